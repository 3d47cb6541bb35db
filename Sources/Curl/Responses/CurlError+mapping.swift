import CCurl

extension CurlError.Code {
    /// Maps a result of libcurl for a transfer whose request was checked beforehand.
    ///
    /// - Parameters:
    ///   - result: anything but `CURLE_OK`; libcurl-errors(3) lists them.
    ///   - isConnected: whether a connection had been made, which tells HTTP/0.9 from a scheme.
    init(_ result: CURLcode, isConnected: Bool) {
        switch result {
        case CURLE_UNSUPPORTED_PROTOCOL:
            // The scheme was checked before; on a connection, this is an answer without a head.
            self = isConnected ? .badResponse : .unsupportedURL
        case CURLE_URL_MALFORMAT:
            self = .unsupportedURL
        case CURLE_COULDNT_RESOLVE_HOST:
            self = .couldNotResolve
        case CURLE_COULDNT_RESOLVE_PROXY, CURLE_PROXY:
            self = .proxyUnreachable
        case CURLE_COULDNT_CONNECT, CURLE_NO_CONNECTION_AVAILABLE, CURLE_INTERFACE_FAILED:
            self = .couldNotConnect
        case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_ISSUER_ERROR,
            CURLE_SSL_PINNEDPUBKEYNOTMATCH, CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_CRL_BADFILE:
            self = .tlsFailure
        case CURLE_SSL_CACERT_BADFILE:
            self = .authoritiesUnusable
        case CURLE_SSL_CERTPROBLEM:
            self = .clientCertificateUnusable
        case CURLE_SSL_CLIENTCERT, CURLE_SSL_CIPHER:
            // The server wants a certificate, or there is no cipher to offer.
            self = .tlsDisagreement
        case CURLE_SSL_CONNECT_ERROR:
            self = .tlsHandshake
        case CURLE_OPERATION_TIMEDOUT:
            // libcurl is given the connect timeout only; the other timeouts are ours.
            self = .timedOut(.connect)
        case CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_GOT_NOTHING, CURLE_HTTP2,
            CURLE_HTTP2_STREAM, CURLE_SSL_SHUTDOWN_FAILED:
            self = .connectionLost
        case CURLE_PARTIAL_FILE:
            self = .truncated
        case CURLE_WEIRD_SERVER_REPLY, CURLE_BAD_CONTENT_ENCODING, CURLE_HTTP_RETURNED_ERROR:
            self = .badResponse
        case CURLE_WRITE_ERROR:
            // Our callbacks name their reasons: libcurl has got more bytes behind a coded stream.
            self = .badResponse
        case CURLE_FILESIZE_EXCEEDED:
            self = .bodyTooLarge
        case CURLE_READ_ERROR, CURLE_SEND_FAIL_REWIND:
            self = .bodySourceFailed
        case CURLE_ABORTED_BY_CALLBACK:
            self = .aborted
        case CURLE_OUT_OF_MEMORY where isConnected:
            // libcurl's result for a header line of more than 100 KiB (CURL_MAX_HTTP_HEADER).
            self = .badResponse
        case CURLE_OUT_OF_MEMORY, CURLE_FAILED_INIT:
            self = .outOfMemory
        default:
            self = .other
        }
    }
}
