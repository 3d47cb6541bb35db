#include "ccurl.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/socket.h>

long long ccurl_bytes_received(curl_socket_t socket) {
    struct tcp_info info;
    socklen_t size = sizeof info;
    if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) { return -1; }
    // A kernel that is older than the header returns less.
    size_t needed = offsetof(struct tcp_info, tcpi_bytes_received) + sizeof info.tcpi_bytes_received;
    return size >= needed ? (long long)info.tcpi_bytes_received : -1;
}
