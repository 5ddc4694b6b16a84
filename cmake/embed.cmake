# A file as a C array: cmake -DIN=... -DOUT=... -P embed.cmake
file(READ ${IN} hex HEX)
string(REGEX REPLACE "(................................)" "\\1\n" hex "${hex}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
file(WRITE ${OUT} "/* Made from ${IN}. */
extern const unsigned char paucis_page[];
extern const unsigned paucis_page_len;
const unsigned char paucis_page[] = {\n${bytes}\n};
const unsigned paucis_page_len = sizeof paucis_page;
")
