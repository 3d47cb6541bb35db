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
    /// The most connections to one service: for streams of events, results and uploads at once.
    public static let connectionsMax = 64
    /// The time that a connection may take to be made.
    public static let connectTimeout: Duration = .seconds(10)
    /// The time without a byte after which a response counts as broken; streams of events carry
    /// a heartbeat every 15 seconds.
    public static let silenceMax: Duration = .seconds(60)

    /// The transport of all clients that name none.
    ///
    /// It lives as long as the process.
    public static let shared = AsyncHTTPTransport(
        client: HTTPClient(
            eventLoopGroupProvider: .singleton,
            configuration: recommendedConfiguration
        )
    )

    private let client: HTTPClient

    /// Creates a transport over a client of the caller, who also shuts it down.
    ///
    /// - Parameter client: made with ``recommendedConfiguration``, or one like it.
    public init(client: HTTPClient) { self.client = client }

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

    /// Sends a request.
    public func send(
        _ request: TransportRequest
    ) async throws(TransportFailure) -> TransportResponse {
        var message = HTTPClientRequest(url: request.url)
        message.method = HTTPMethod(rawValue: request.method)
        for (name, value) in request.headers { message.headers.add(name: name, value: value) }
        switch request.body {
        case .none: break
        case .bytes(let bytes): message.body = .bytes(ByteBuffer(bytes: bytes))
        case .file(let slice): message.body = .stream(slice, length: .known(slice.count))
        }
        do {
            let response = try await client.execute(message, timeout: TimeAmount(request.timeout))
            return TransportResponse(
                status: Int(response.status.code),
                headers: response.headers.map { ($0.name, $0.value) },
                body: ResponseParts(body: response.body)
            )
        } catch {
            throw Self.failure(error)
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
