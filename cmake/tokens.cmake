# The tables of the tokenizers: a small program of ours expands lib/token/data into C. It runs on the
# machine that builds, so when compiling for another one it needs that machine's own compiler.
# Sets token_tables, the file it writes.
set(host_cc ${CMAKE_C_COMPILER})
if(CMAKE_CROSSCOMPILING)
    find_program(PAUCIS_HOST_CC NAMES cc gcc clang NO_CMAKE_FIND_ROOT_PATH REQUIRED)
    set(host_cc ${PAUCIS_HOST_CC})
endif()
set(token_data ${CMAKE_SOURCE_DIR}/lib/token/data)
set(token_gen ${CMAKE_BINARY_DIR}/token_gen)
set(token_tables ${CMAKE_BINARY_DIR}/token_tables.c)
set(token_files ${token_data}/unicode.txt ${token_data}/nfc.txt)
if(PAUCIS_TOKENS)
    list(APPEND token_files o200k_base 18 ${token_data}/o200k_base.pairs
         cl100k_base 17 ${token_data}/cl100k_base.pairs)
endif()
add_custom_command(
    OUTPUT ${token_gen}
    COMMAND ${host_cc} -std=c11 -O1 -I${CMAKE_SOURCE_DIR}/lib
            ${CMAKE_SOURCE_DIR}/lib/token/gen/tables.c -o ${token_gen}
    DEPENDS ${CMAKE_SOURCE_DIR}/lib/token/gen/tables.c ${CMAKE_SOURCE_DIR}/lib/token/pairs.h
            ${CMAKE_SOURCE_DIR}/lib/token/nfc_table.h ${CMAKE_SOURCE_DIR}/lib/token/unicode.h
    VERBATIM)
add_custom_command(
    OUTPUT ${token_tables}
    COMMAND ${token_gen} ${token_files} > ${token_tables}.new
    COMMAND ${CMAKE_COMMAND} -E rename ${token_tables}.new ${token_tables}
    DEPENDS ${token_gen} ${token_data}/unicode.txt ${token_data}/nfc.txt
            ${token_data}/o200k_base.pairs ${token_data}/cl100k_base.pairs
    VERBATIM)
