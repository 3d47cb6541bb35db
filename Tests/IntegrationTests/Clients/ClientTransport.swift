import TransferClient
import TransferURLSession

/// The transports that a client can have.
enum ClientTransport: String, CaseIterable {
    case asyncHTTPClient, urlSession

    var transport: any TransferTransport {
        switch self {
        case .asyncHTTPClient: AsyncHTTPTransport.shared
        case .urlSession: URLSessionTransport.shared
        }
    }
}
