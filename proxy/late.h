/* libcurl, loaded when something is to be asked of a provider. It brings thirty libraries with it,
 * and loading them takes longer than most of what the other commands do. */
#ifndef PAUCIS_LATE_H
#define PAUCIS_LATE_H

#include <stdbool.h>

#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>
#undef curl_easy_setopt
#undef curl_easy_getinfo
#undef curl_multi_setopt

struct late {
#define CALL(name) __typeof__(curl_##name) *name;
#include "late.def"
};
extern struct late late;

/* Before the first of these calls, by one thread; again does nothing. False: it said why it cannot
 * be had. */
bool late_open(void);

#define curl_easy_cleanup late.easy_cleanup
#define curl_easy_getinfo late.easy_getinfo
#define curl_easy_init late.easy_init
#define curl_easy_pause late.easy_pause
#define curl_easy_perform late.easy_perform
#define curl_easy_setopt late.easy_setopt
#define curl_global_cleanup late.global_cleanup
#define curl_global_init late.global_init
#define curl_multi_add_handle late.multi_add_handle
#define curl_multi_assign late.multi_assign
#define curl_multi_cleanup late.multi_cleanup
#define curl_multi_info_read late.multi_info_read
#define curl_multi_init late.multi_init
#define curl_multi_remove_handle late.multi_remove_handle
#define curl_multi_setopt late.multi_setopt
#define curl_multi_socket_action late.multi_socket_action
#define curl_slist_append late.slist_append
#define curl_slist_free_all late.slist_free_all
#define curl_version late.version

#endif
