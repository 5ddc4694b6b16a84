/* SHA-256 and AES-256-GCM, both by OpenSSL. A sealed text is nonce, ciphertext, tag; the name it
 * lies under is authenticated with it, so that two texts cannot be exchanged. The nonce is random:
 * a text is sealed once, so there are far fewer than the 2^32 of one key that would be too many. */
#include "kind.h"

#include <limits.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <openssl/sha.h>

enum { NONCE = 12, TAG = 16 };

void hash_of(const char *at, size_t len, struct hash *out) {
    SHA256((const unsigned char *)at, len, out->at);
}

void hash_hex(const struct hash *h, char out[HASH_DIGITS + 1]) {
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < HASH_SIZE; i++) {
        out[2 * i] = digits[h->at[i] >> 4];
        out[2 * i + 1] = digits[h->at[i] & 15];
    }
    out[HASH_DIGITS] = '\0';
}

static unsigned digit(char c) {
    if (c >= '0' && c <= '9') return (unsigned)(c - '0');
    if (c >= 'a' && c <= 'f') return (unsigned)(c - 'a') + 10;
    if (c >= 'A' && c <= 'F') return (unsigned)(c - 'A') + 10;
    return 16;
}

static bool read_digits(const char *hex, size_t n, struct hash *out) {
    for (size_t i = 0; i < n / 2; i++) {
        unsigned high = digit(hex[2 * i]), low = high < 16 ? digit(hex[2 * i + 1]) : 16;
        if (low == 16) return false;
        out->at[i] = (unsigned char)(high << 4 | low);
    }
    return true;
}

bool hash_read(const char *hex, struct hash *out) { return read_digits(hex, HASH_DIGITS, out); }

bool hash_begin(const char *hex, struct hash *out) {
    *out = (struct hash){0};
    return read_digits(hex, HANDLE_DIGITS, out);
}

/* ---- sealing -------------------------------------------------------------------------------- */

static bool seal_into(EVP_CIPHER_CTX *c, const unsigned char *key, const struct hash *name,
                      const char *at, size_t len, unsigned char *out) {
    int n, m, last;
    return len <= INT_MAX - SEAL_EXTRA && RAND_bytes(out, NONCE) == 1 &&
           EVP_EncryptInit_ex(c, EVP_aes_256_gcm(), NULL, key, out) == 1 &&
           EVP_EncryptUpdate(c, NULL, &n, name->at, HASH_SIZE) == 1 &&
           EVP_EncryptUpdate(c, out + NONCE, &m, (const unsigned char *)at, (int)len) == 1 &&
           EVP_EncryptFinal_ex(c, out + NONCE + m, &last) == 1 &&
           EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_GCM_GET_TAG, TAG, out + NONCE + len) == 1;
}

bool seal(const unsigned char *key, const struct hash *name, const char *at, size_t len,
          struct buf *out) {
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    bool ok = c && buf_reserve(out, len + SEAL_EXTRA) &&
              seal_into(c, key, name, at, len, (unsigned char *)out->data + out->len);
    if (ok) out->len += len + SEAL_EXTRA;
    EVP_CIPHER_CTX_free(c);
    return ok;
}

static bool unseal_into(EVP_CIPHER_CTX *c, const unsigned char *key, const struct hash *name,
                        const unsigned char *at, size_t len, unsigned char *out) {
    unsigned char tag[TAG];
    int n, m, last;
    memcpy(tag, at + NONCE + len, TAG);
    return EVP_DecryptInit_ex(c, EVP_aes_256_gcm(), NULL, key, at) == 1 &&
           EVP_DecryptUpdate(c, NULL, &n, name->at, HASH_SIZE) == 1 &&
           EVP_DecryptUpdate(c, out, &m, at + NONCE, (int)len) == 1 &&
           EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_GCM_SET_TAG, TAG, tag) == 1 &&
           EVP_DecryptFinal_ex(c, out + m, &last) == 1;
}

bool unseal(const unsigned char *key, const struct hash *name, const char *at, size_t len,
            struct buf *out) {
    if (len < SEAL_EXTRA || len > INT_MAX) return false;
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    bool ok = c && buf_reserve(out, len) &&
              unseal_into(c, key, name, (const unsigned char *)at, len - SEAL_EXTRA,
                          (unsigned char *)out->data + out->len);
    if (ok) out->len += len - SEAL_EXTRA;
    EVP_CIPHER_CTX_free(c);
    return ok;
}
