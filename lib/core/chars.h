/* Classes of ASCII bytes, the same in every locale. The bytes of other characters are in none. */
#ifndef PAUCIS_CHARS_H
#define PAUCIS_CHARS_H

#include <stdbool.h>

static inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
static inline bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
static inline bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
static inline bool is_letter(char c) { return is_lower(c) || is_upper(c); }
static inline bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
static inline char to_lower(char c) { return is_upper(c) ? (char)(c | 0x20) : c; }

#endif
