/* Every limit of the library, named once, with its reason. */
#ifndef PAUCIS_LIMITS_H
#define PAUCIS_LIMITS_H

/* Offsets in the token list are 30 bits wide, so that a token is 8 bytes. The largest request any
 * provider takes is 32 MB. */
#define PAUCIS_MAX_BODY ((1u << 30) - 1)

/* Containers inside containers. Real bodies stay under 30; nothing here recurses, so this only
 * bounds the paths that are printed and the stack of a comparison. */
#define PAUCIS_MAX_DEPTH ((size_t)1024)

/* Tokens in one body: 1 GiB of token list. A token is a key, a scalar, or either end of a
 * container, so a body made only of "[]," needs 16/3 bytes of list for each of its own. */
#define PAUCIS_MAX_TOKENS ((size_t)1 << 27)

/* Messages in one body. Anthropic takes 100,000. A message without content is 3 bytes of body and
 * 100 bytes of view, so this bounds the view of a hostile body at 1.6 GB. */
#define PAUCIS_MAX_MESSAGES ((size_t)1 << 24)

/* Broken rules that are written down with their place. The rest are only counted: a hostile body
 * may break a rule every few bytes. */
#define PAUCIS_MAX_BREAKS ((size_t)100000)

#endif
