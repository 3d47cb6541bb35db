public import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// The transport of most clients: AsyncHTTPClient, with HTTP/1.1 over TCP or TLS.
public struct AsyncHTTPTransport: TransferTransport {
    /// The most connections to one service for calls that end soon.
    public static let connectionsMax = 64
    /// The most further connections to one service, for requests that last: streams of events,
    /// results and files.
    public static let longConnectionsMax = 512
    /// The time that a connection may take to be made.
    public static let connectTimeout: Duration = .seconds(10)
    /// The time without a byte after which a response counts as broken; streams of events carry
    /// a heartbeat every 15 seconds.
    public static let silenceMax: Duration = .seconds(60)
    /// The time after which a request counts as broken of whose body nothing more is taken.
    ///
    /// It is longer than the other: behind the bytes that are taken at once, a slow line may have
    /// some megabytes in the buffers of the system to send first.
    public static let stallMax: Duration = .seconds(300)

    /// The transport of all clients that name none.
    ///
    /// It lives as long as the process.
    public static let shared = AsyncHTTPTransport(
        client: HTTPClient(
            eventLoopGroupProvider: .singleton,
            configuration: recommendedConfiguration
        ),
        longClient: HTTPClient(
            eventLoopGroupProvider: .singleton,
            configuration: recommendedLongConfiguration
        )
    )

    private let client: HTTPClient
    private let longClient: HTTPClient
    /// The longest stall; tests make it shorter.
    var longestStall = AsyncHTTPTransport.stallMax

    /// Creates a transport over clients of the caller, who also shuts them down.
    ///
    /// - Parameters:
    ///   - client: made with ``recommendedConfiguration``, or one like it.
    ///   - longClient: another one with ``recommendedLongConfiguration``, for requests that last.
    ///     Without it these take connections from all others, and once they have all, calls fail
    ///     and leases end.
    public init(client: HTTPClient, longClient: HTTPClient? = nil) {
        self.client = client
        self.longClient = longClient ?? client
    }

    /// A configuration that leaves redirects and repetitions to the caller.
    public static var recommendedConfiguration: HTTPClient.Configuration {
        var configuration = HTTPClient.Configuration()
        configuration.redirectConfiguration = .disallow
        configuration.timeout.connect = TimeAmount(connectTimeout)
        configuration.timeout.read = TimeAmount(silenceMax)
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = connectionsMax
        // The client above decides which requests are repeated, and when.
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.httpVersion = .http1Only
        return configuration
    }

    /// The same configuration for as many requests that last as there may be.
    public static var recommendedLongConfiguration: HTTPClient.Configuration {
        var configuration = recommendedConfiguration
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = longConnectionsMax
        return configuration
    }

    /// Sends a request.
    public func send(
        _ request: TransportRequest
    ) async throws(TransportFailure) -> TransportResponse {
        var message = HTTPClientRequest(url: request.url)
        message.method = HTTPMethod(rawValue: request.method)
        for (name, value) in request.headers { message.headers.add(name: name, value: value) }
        var watch: SendingWatch?
        switch request.body {
        case .none: break
        case .bytes(let bytes): message.body = .bytes(ByteBuffer(bytes: bytes))
        case .file(let slice):
            let sending = SendingWatch(stallMax: longestStall)
            message.body = .stream(sending.parts(of: slice), length: .known(slice.count))
            watch = sending
        }
        do {
            let response = try await execute(
                message,
                by: request.isLong ? longClient : client,
                within: request.timeout,
                watch
            )
            return TransportResponse(
                status: Int(response.status.code),
                headers: response.headers.map { ($0.name, $0.value) },
                body: ResponseParts(body: response.body)
            )
        } catch {
            throw Self.failure(error)
        }
    }

    /// Sends a request, which ends when its watch finds that nothing more is taken.
    ///
    /// The library has a timeout for a body that is not there, and none for one that is not taken.
    private func execute(
        _ message: HTTPClientRequest,
        by client: HTTPClient,
        within timeout: Duration,
        _ watch: SendingWatch?
    ) async throws -> HTTPClientResponse {
        guard let watch else {
            return try await client.execute(message, timeout: TimeAmount(timeout))
        }
        return try await withThrowingTaskGroup(of: HTTPClientResponse.self) { group in
            group.addTask { try await client.execute(message, timeout: TimeAmount(timeout)) }
            group.addTask {
                try await watch.stall()
                throw TransportFailure(.timedOut, "The service takes no more of the file.")
            }
            defer { group.cancelAll() }
            guard let response = try await group.next() else { throw CancellationError() }
            return response
        }
    }

    fileprivate static func failure(_ error: any Error) -> TransportFailure {
        switch error {
        case let failure as TransportFailure: failure
        case is CancellationError: TransportFailure(.cancelled, "The request was cancelled.")
        case let error as HTTPClientError: failure(error)
        case let error as NIOConnectionError: failure(error)
        // What an address refuses, where a name would have had several.
        case let error as IOError where error.errnoCode == ECONNREFUSED: unreachable(error)
        case let error as IOError:
            TransportFailure(.broken, "The connection ended: \(reason(error)).")
        case NIOSSLError.handshakeFailed(let cause): failure(cause)
        case let error as NIOSSLExtraError where error == .failedToValidateHostname:
            TransportFailure(.notConnected, "The service's certificate is for other names.")
        default: TransportFailure(.broken, "The connection ended: \(error)")
        }
    }

    private static func failure(_ error: NIOConnectionError) -> TransportFailure {
        // Those before it may be of addresses that this machine has no way to.
        guard let last = error.connectionErrors.last?.error else {
            return TransportFailure(.notConnected, "No address was found for the service's host.")
        }
        guard let last = last as? IOError else {
            return TransportFailure(.notConnected, "The service could not be reached.")
        }
        return unreachable(last)
    }

    /// Describes why TLS was not agreed on, before which nothing is sent.
    private static func failure(_ cause: BoringSSLError) -> TransportFailure {
        // The library tells the reasons apart in its text alone, where a file of it is named, too.
        let text = "\(cause)"
        let reason =
            if text.contains("CERTIFICATE_VERIFY_FAILED") {
                "This machine does not trust the service's certificate."
            } else if text.contains("WRONG_VERSION_NUMBER") {
                "The service does not speak TLS there; its URL may start with http://."
            } else {
                "TLS could not be agreed on with the service."
            }
        return TransportFailure(.notConnected, reason)
    }

    private static func unreachable(_ error: IOError) -> TransportFailure {
        TransportFailure(.notConnected, "The service could not be reached: \(reason(error)).")
    }

    private static func reason(_ error: IOError) -> String {
        String(cString: strerror(error.errnoCode))
    }

    private static func failure(_ error: HTTPClientError) -> TransportFailure {
        switch error {
        case .cancelled: TransportFailure(.cancelled, "The request was cancelled.")
        case .deadlineExceeded, .readTimeout, .writeTimeout:
            TransportFailure(.timedOut, "The service did not respond in time.")
        case .connectTimeout, .getConnectionFromPoolTimeout:
            TransportFailure(.notConnected, "The service could not be reached in time.")
        // Not the error itself, which may have the values of header fields.
        default: TransportFailure(.broken, "The connection ended: \(error.shortDescription)")
        }
    }
}

/// The parts of a response, whose errors are those of a transport.
private struct ResponseParts: AsyncSequence, Sendable {
    let body: HTTPClientResponse.Body

    func makeAsyncIterator() -> Iterator { Iterator(parts: body.makeAsyncIterator()) }

    struct Iterator: AsyncIteratorProtocol {
        var parts: HTTPClientResponse.Body.AsyncIterator

        mutating func next() async throws -> [UInt8]? {
            do {
                return try await parts.next().map { Array($0.readableBytesView) }
            } catch {
                throw AsyncHTTPTransport.failure(error)
            }
        }
    }
}
