#ifndef CCURL_H
#define CCURL_H

#include <curl/curl.h>

// curl_easy_setopt, curl_easy_getinfo and curl_multi_setopt are variadic, which Swift cannot call.
// Each function below fixes the type of the last argument. The parentheses around the names keep
// curl's type-checking macros, which want a literal option, out of the way.

static inline CURLcode ccurl_set_long(CURL *easy, CURLoption option, long value) {
    return (curl_easy_setopt)(easy, option, value);
}

static inline CURLcode ccurl_set_offset(CURL *easy, CURLoption option, curl_off_t value) {
    return (curl_easy_setopt)(easy, option, value);
}

static inline CURLcode ccurl_set_string(CURL *easy, CURLoption option, const char *value) {
    return (curl_easy_setopt)(easy, option, value);
}

static inline CURLcode ccurl_set_pointer(CURL *easy, CURLoption option, void *value) {
    return (curl_easy_setopt)(easy, option, value);
}

static inline CURLcode ccurl_set_bytes(CURL *easy, CURLoption option, const void *value) {
    return (curl_easy_setopt)(easy, option, value);
}

// The data is only read: libcurl takes a copy.
static inline CURLcode ccurl_set_blob(
    CURL *easy, CURLoption option, const void *data, size_t length) {
    struct curl_blob blob = {(void *)data, length, CURL_BLOB_COPY};
    return (curl_easy_setopt)(easy, option, &blob);
}

static inline CURLcode ccurl_set_list(CURL *easy, CURLoption option, struct curl_slist *value) {
    return (curl_easy_setopt)(easy, option, value);
}

static inline CURLcode ccurl_set_write(CURL *easy, curl_write_callback callback, void *context) {
    CURLcode code = (curl_easy_setopt)(easy, CURLOPT_WRITEFUNCTION, callback);
    return code ? code : (curl_easy_setopt)(easy, CURLOPT_WRITEDATA, context);
}

static inline CURLcode ccurl_set_header(CURL *easy, curl_write_callback callback, void *context) {
    CURLcode code = (curl_easy_setopt)(easy, CURLOPT_HEADERFUNCTION, callback);
    return code ? code : (curl_easy_setopt)(easy, CURLOPT_HEADERDATA, context);
}

static inline CURLcode ccurl_set_read(CURL *easy, curl_read_callback callback, void *context) {
    CURLcode code = (curl_easy_setopt)(easy, CURLOPT_READFUNCTION, callback);
    return code ? code : (curl_easy_setopt)(easy, CURLOPT_READDATA, context);
}

static inline CURLcode ccurl_set_seek(CURL *easy, curl_seek_callback callback, void *context) {
    CURLcode code = (curl_easy_setopt)(easy, CURLOPT_SEEKFUNCTION, callback);
    return code ? code : (curl_easy_setopt)(easy, CURLOPT_SEEKDATA, context);
}

static inline CURLcode ccurl_set_progress(
    CURL *easy, curl_xferinfo_callback callback, void *context) {
    CURLcode code = (curl_easy_setopt)(easy, CURLOPT_XFERINFOFUNCTION, callback);
    return code ? code : (curl_easy_setopt)(easy, CURLOPT_XFERINFODATA, context);
}

static inline CURLcode ccurl_set_open_socket(
    CURL *easy, curl_opensocket_callback callback, void *context) {
    CURLcode code = (curl_easy_setopt)(easy, CURLOPT_OPENSOCKETFUNCTION, callback);
    return code ? code : (curl_easy_setopt)(easy, CURLOPT_OPENSOCKETDATA, context);
}

static inline CURLcode ccurl_set_close_socket(
    CURL *easy, curl_closesocket_callback callback, void *context) {
    CURLcode code = (curl_easy_setopt)(easy, CURLOPT_CLOSESOCKETFUNCTION, callback);
    return code ? code : (curl_easy_setopt)(easy, CURLOPT_CLOSESOCKETDATA, context);
}

static inline CURLcode ccurl_set_prerequest(
    CURL *easy, curl_prereq_callback callback, void *context) {
    CURLcode code = (curl_easy_setopt)(easy, CURLOPT_PREREQFUNCTION, callback);
    return code ? code : (curl_easy_setopt)(easy, CURLOPT_PREREQDATA, context);
}

// The bytes that a TCP socket has received in all (tcp(7), TCP_INFO); -1 when that is not known.
long long ccurl_bytes_received(curl_socket_t socket);

// The port of a socket's own end; -1 when that is not known.
int ccurl_local_port(curl_socket_t socket);

// Whether the connection that `easy` has uses TLS, and not HTTP/2.
int ccurl_is_http1_over_tls(CURL *easy);

// Whether a connection of HTTP/1 that waits for its next request has received bytes, or its end,
// that libcurl would take for the answer; 0 for HTTP/2, whose frames say to what they belong. To be
// called where `easy` has the connection, whose socket is `socket`.
int ccurl_has_stray_input(CURL *easy, curl_socket_t socket);

static inline CURLcode ccurl_get_long(CURL *easy, CURLINFO info, long *value) {
    return (curl_easy_getinfo)(easy, info, value);
}

static inline CURLcode ccurl_get_offset(CURL *easy, CURLINFO info, curl_off_t *value) {
    return (curl_easy_getinfo)(easy, info, value);
}

static inline CURLcode ccurl_get_string(CURL *easy, CURLINFO info, const char **value) {
    return (curl_easy_getinfo)(easy, info, value);
}

static inline CURLcode ccurl_get_pointer(CURL *easy, CURLINFO info, void **value) {
    return (curl_easy_getinfo)(easy, info, value);
}

static inline CURLcode ccurl_get_list(CURL *easy, CURLINFO info, struct curl_slist **value) {
    return (curl_easy_getinfo)(easy, info, value);
}

static inline CURLMcode ccurl_multi_set_long(CURLM *multi, CURLMoption option, long value) {
    return (curl_multi_setopt)(multi, option, value);
}

static inline CURLMcode ccurl_multi_set_socket(
    CURLM *multi, curl_socket_callback callback, void *context) {
    CURLMcode code = (curl_multi_setopt)(multi, CURLMOPT_SOCKETFUNCTION, callback);
    return code ? code : (curl_multi_setopt)(multi, CURLMOPT_SOCKETDATA, context);
}

static inline CURLMcode ccurl_multi_set_timer(
    CURLM *multi, curl_multi_timer_callback callback, void *context) {
    CURLMcode code = (curl_multi_setopt)(multi, CURLMOPT_TIMERFUNCTION, callback);
    return code ? code : (curl_multi_setopt)(multi, CURLMOPT_TIMERDATA, context);
}

#endif
