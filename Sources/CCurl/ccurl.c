#define _GNU_SOURCE
#include "ccurl.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

long long ccurl_bytes_received(curl_socket_t socket) {
    struct tcp_info info;
    socklen_t size = sizeof info;
    if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) { return -1; }
    // A kernel that is older than the header returns less.
    size_t needed = offsetof(struct tcp_info, tcpi_bytes_received) + sizeof info.tcpi_bytes_received;
    return size >= needed ? (long long)info.tcpi_bytes_received : -1;
}

int ccurl_local_port(curl_socket_t socket) {
    struct sockaddr_storage address;
    socklen_t size = sizeof address;
    if (getsockname(socket, (struct sockaddr *)&address, &size) != 0) { return -1; }
    switch (address.ss_family) {
    case AF_INET: return ntohs(((struct sockaddr_in *)&address)->sin_port);
    case AF_INET6: return ntohs(((struct sockaddr_in6 *)&address)->sin6_port);
    default: return -1;
    }
}

// Functions of the OpenSSL that libcurl has loaded; null where it uses another library.
static int (*tls_has_pending)(const void *tls);
static void (*tls_protocol)(const void *tls, const unsigned char **name, unsigned int *length);

static void find_tls_functions(void) {
    tls_has_pending = (int (*)(const void *))dlsym(RTLD_DEFAULT, "SSL_has_pending");
    tls_protocol = (void (*)(const void *, const unsigned char **, unsigned int *))dlsym(
        RTLD_DEFAULT, "SSL_get0_alpn_selected");
}

// The TLS of the connection that `easy` has; null without one.
static const struct curl_tlssessioninfo *tls_of(CURL *easy) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_tls_functions);
    struct curl_tlssessioninfo *tls = NULL;
    (curl_easy_getinfo)(easy, CURLINFO_TLS_SSL_PTR, &tls);
    return tls != NULL && tls->internals != NULL ? tls : NULL;
}

static int speaks_http2(const struct curl_tlssessioninfo *tls) {
    if (tls->backend != CURLSSLBACKEND_OPENSSL || !tls_protocol) { return 0; }
    const unsigned char *name = NULL;
    unsigned int length = 0;
    tls_protocol(tls->internals, &name, &length);
    return length == 2 && memcmp(name, "h2", 2) == 0;
}

int ccurl_is_http1_over_tls(CURL *easy) {
    const struct curl_tlssessioninfo *tls = tls_of(easy);
    return tls != NULL && !speaks_http2(tls);
}

int ccurl_has_stray_input(CURL *easy, curl_socket_t socket) {
    const struct curl_tlssessioninfo *tls = tls_of(easy);
    if (tls != NULL) {
        // What cannot be looked into may hold anything.
        if (tls->backend != CURLSSLBACKEND_OPENSSL || !tls_has_pending || !tls_protocol) { return 1; }
        if (speaks_http2(tls)) { return 0; }
        // A record that libcurl has read in part is in no socket any more.
        if (tls_has_pending(tls->internals)) { return 1; }
    }
    char byte;
    return recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0
        || (errno != EAGAIN && errno != EWOULDBLOCK);
}
