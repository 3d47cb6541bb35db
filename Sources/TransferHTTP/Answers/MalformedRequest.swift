import NIOHTTP1
import NIOHTTPTypesHTTP1

/// The error for a request whose head cannot be trusted to say where it ends and whom it is for.
struct MalformedRequest: Error, Equatable {
    /// What is wrong, for the client.
    let detail: String

    init(_ detail: String) { self.detail = detail }

    /// Translates an error of the handlers that read requests; nil for an error of the connection.
    init?(_ error: any Error) {
        switch error {
        case let error as MalformedRequest: self = error
        case HTTPParserError.headerOverflow:
            detail =
                "The head of the request is too large: it may have \(TransferAPI.headerCountMax) "
                + "fields, and \(TransferAPI.headerBytesMax) bytes of them and of the target "
                + "together."
        case is HTTPParserError, is HTTP1TypeConversionError:
            detail = "The bytes are not a request of HTTP/1.1."
        default: return nil
        }
    }
}
