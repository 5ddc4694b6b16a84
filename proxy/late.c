/* See late.h. The name is that of libcurl's binary interface, the same since 2006. */
#include "late.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

struct late late;

bool late_open(void) {
    static const struct {
        const char *name;
        size_t at;
    } calls[] = {
#define CALL(name) {"curl_" #name, offsetof(struct late, name)},
#include "late.def"
    };
    if (late.version) return true;
    void *library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; library && i < sizeof calls / sizeof *calls; i++) {
        void *call = dlsym(library, calls[i].name);
        if (!call) library = NULL;
        memcpy((char *)&late + calls[i].at, &call, sizeof call);
    }
    if (!library) fprintf(stderr, "paucis: cannot load libcurl: %s\n", dlerror());
    return library != NULL;
}
