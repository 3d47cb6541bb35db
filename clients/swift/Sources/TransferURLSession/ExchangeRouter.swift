import Foundation
import Synchronization
import TransferClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The delegate of a `URLSession`, which tells each exchange what becomes of its task.
///
/// Foundation of Linux tells the delegate of a task nothing.
final class ExchangeRouter: NSObject, URLSessionDataDelegate, Sendable {
    private let exchanges = Mutex<[Int: Exchange]>([:])

    /// Routes what is about a task to an exchange, until the task has ended.
    func add(_ exchange: Exchange, for task: URLSessionTask) {
        exchanges.withLock { $0[task.taskIdentifier] = exchange }
    }

    /// Forgets a task.
    @discardableResult func remove(_ task: URLSessionTask) -> Exchange? {
        exchanges.withLock { $0.removeValue(forKey: task.taskIdentifier) }
    }

    private func exchange(of task: URLSessionTask) -> Exchange? {
        exchanges.withLock { $0[task.taskIdentifier] }
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        // The client decides what a redirect means.
        completionHandler(nil)
    }

    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        if let response = response as? HTTPURLResponse {
            exchange(of: dataTask)?.headReceived(response)
        }
        completionHandler(.allow)
    }

    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didReceive data: Data
    ) {
        exchange(of: dataTask)?.bytesReceived(data)
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didCompleteWithError error: (any Error)?
    ) {
        let exchange = remove(task)
        // Foundation of Linux tells of some responses only with the end.
        if error == nil, let response = task.response as? HTTPURLResponse {
            exchange?.headReceived(response)
        }
        exchange?.ended(error.map { TransportFailure($0) })
    }
}

extension TransportFailure {
    /// Describes an error of `URLSession`.
    fileprivate init(_ error: any Error) {
        switch (error as? URLError)?.code {
        case .cancelled: self.init(.cancelled, "The request was cancelled.")
        case .timedOut: self.init(.timedOut, "The service did not respond in time.")
        case .cannotConnectToHost, .cannotFindHost, .dnsLookupFailed, .notConnectedToInternet,
            .secureConnectionFailed, .serverCertificateUntrusted, .serverCertificateHasBadDate,
            .serverCertificateHasUnknownRoot, .serverCertificateNotYetValid:
            self.init(.notConnected, "The service could not be reached.")
        case let code?: self.init(.broken, "The connection ended: \(code.rawValue)")
        case nil: self.init(.broken, "The connection ended.")
        }
    }
}
