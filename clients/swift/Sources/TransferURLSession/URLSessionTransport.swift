public import TransferClient

#if canImport(FoundationNetworking)
    import Foundation
    public import FoundationNetworking
#else
    public import Foundation
#endif

/// A transport over Foundation's `URLSession`, for programs whose proxies, certificates and network
/// settings are those of the system.
///
/// `URLSession` decodes a body with a `Content-Encoding` whether its caller wants that or not. As
/// bytes that are not those of the service can neither be resumed nor compared, such a response is
/// a ``TransportFailure`` of the kind `unusable`.
///
/// A `URLSession` cannot be told to wait for its reader. Of a response that arrives faster than it
/// is used, up to ``waitingBytesMax`` are kept; then the connection is given up, and the client
/// continues behind what it has read, as after any other break.
public struct URLSessionTransport: TransferTransport {
    /// The most bytes of a response that wait for their reader; more than any list or event has.
    public static let waitingBytesMax = 8 << 20
    /// The most connections to one service for calls that end soon, as ``AsyncHTTPTransport`` has
    /// them.
    public static let connectionsMax = AsyncHTTPTransport.connectionsMax
    /// The most further ones for requests that last.
    public static let longConnectionsMax = AsyncHTTPTransport.longConnectionsMax
    /// The time without a byte after which a request counts as broken; streams of events carry a
    /// heartbeat every 15 seconds.
    public static let silenceMax: Duration = AsyncHTTPTransport.silenceMax

    /// A transport that lives as long as the process.
    public static let shared = URLSessionTransport()

    /// A session, which ends with the last copy of its transport.
    private final class Owner: Sendable {
        let session: URLSession
        let router = ExchangeRouter()

        init(_ configuration: URLSessionConfiguration) {
            session = URLSession(
                configuration: configuration,
                delegate: router,
                delegateQueue: nil
            )
        }

        deinit { session.finishTasksAndInvalidate() }
    }

    private let owner: Owner
    private let longOwner: Owner

    /// Creates a transport with two sessions of its own, one of them for requests that last.
    ///
    /// - Parameter configuration: ``recommendedConfiguration``, or one like it with other proxies
    ///   or versions of TLS.
    public init(configuration: URLSessionConfiguration = recommendedConfiguration) {
        owner = Owner(configuration)
        let copy = configuration.copy() as? URLSessionConfiguration
        copy?.httpMaximumConnectionsPerHost = Self.longConnectionsMax
        longOwner = Owner(copy ?? configuration)
    }

    /// A configuration that keeps nothing: no cookies, no credentials, no cache.
    public static var recommendedConfiguration: URLSessionConfiguration {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpMaximumConnectionsPerHost = connectionsMax
        configuration.httpShouldSetCookies = false
        configuration.httpCookieStorage = nil
        configuration.urlCredentialStorage = nil
        configuration.urlCache = nil
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        // A stream of events lasts as long as its session.
        configuration.timeoutIntervalForResource = .greatestFiniteMagnitude
        return configuration
    }

    /// Sends a request.
    public func send(
        _ request: TransportRequest
    ) async throws(TransportFailure) -> TransportResponse {
        let owner = request.isLong ? longOwner : self.owner
        let exchange = Exchange(waitingBytesMax: Self.waitingBytesMax)
        let task = owner.session.dataTask(with: try Self.message(request))
        owner.router.add(exchange, for: task)
        let head: HTTPURLResponse
        do throws(TransportFailure) {
            head = try await exchange.start(task, within: request.timeout)
        } catch {
            owner.router.remove(task)
            throw error
        }
        // Its end is that of the request.
        let body = ResponseParts(exchange)
        // The session has read the file by its name, which may have led to another one meanwhile.
        if case .file(let slice) = request.body, (200..<300).contains(head.statusCode) {
            try slice.check()
        }
        return TransportResponse(
            status: head.statusCode,
            headers: head.allHeaderFields.compactMap { name, value in
                guard let name = name as? String, let value = value as? String else { return nil }
                return (name, value)
            },
            body: body
        )
    }

    private static func message(
        _ request: TransportRequest
    ) throws(TransportFailure) -> URLRequest {
        guard let url = URL(string: request.url) else {
            throw TransportFailure(.notConnected, "The address is no URL.")
        }
        var message = URLRequest(url: url)
        message.httpMethod = request.method
        message.timeoutInterval = silenceMax / .seconds(1)
        // Nothing on the way shall compress what is decoded unasked.
        message.setValue("identity", forHTTPHeaderField: "Accept-Encoding")
        for (name, value) in request.headers { message.setValue(value, forHTTPHeaderField: name) }
        switch request.body {
        case .none: break
        case .bytes(let bytes): message.httpBody = Data(bytes)
        case .file(let slice): message.httpBodyStream = try stream(slice)
        }
        return message
    }

    private static func stream(_ slice: FileSlice) throws(TransportFailure) -> InputStream {
        try slice.check()
        guard let stream = InputStream(url: slice.file),
            // It starts there once it is opened.
            stream.setProperty(NSNumber(value: slice.offset), forKey: .fileCurrentOffsetKey)
        else { throw TransportFailure(.unreadable, "\(slice.file.path) cannot be read.") }
        return stream
    }
}
