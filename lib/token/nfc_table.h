/* Tables of nfc.c, made from data/nfc.txt by gen/tables.c; all ascend. */
#ifndef PAUCIS_NFC_TABLE_H
#define PAUCIS_NFC_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct nfc_class {
    uint32_t point, class;
};
struct nfc_parts { /* point is a, or a and b */
    uint32_t point, a, b;
};

extern const struct nfc_class paucis__nfc_classes[]; /* combining classes other than 0 */
extern const struct nfc_parts paucis__nfc_parts[];   /* by point */
extern const struct nfc_parts paucis__nfc_pairs[];   /* by a, then b: what composes */
extern const size_t paucis__nfc_counts[3];

#endif
