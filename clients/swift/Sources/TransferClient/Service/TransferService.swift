public import Foundation
import TransferWire

/// A service that runs transfers, and the key with which a client speaks to it.
public struct TransferService: Sendable {
    /// The URL of the service without the path of its API, such as `http://127.0.0.1:8080`.
    public let url: String
    /// The client of the tenant whose sessions are meant; nil for the one that always exists.
    public let client: String?
    /// When calls are repeated.
    public var retryPolicy = RetryPolicy()
    /// The time that one attempt of a call may take.
    public var timeout: Duration = .seconds(60)

    private let apiKey: String
    private let transport: any TransferTransport
    /// Why no request can be made; nil when one can.
    private let misconfiguration: TransferError?

    /// The most bytes of a response that are kept in memory.
    private static let responseBytesMax = 64 << 20
    /// The most bytes of a response that nobody asked for.
    private static let problemBytesMax = 1 << 20

    /// Names a service.
    ///
    /// With a URL or a key that ``check(url:)`` or ``check(apiKey:)`` refuses, every call throws
    /// their error and nothing is sent.
    ///
    /// - Parameters:
    ///   - url: the URL; a slash at its end does not matter.
    ///   - apiKey: a key of the tenant, as `transferd keys create` prints it, without the end of
    ///     its line.
    ///   - client: the client of the tenant; nil for the one that always exists.
    ///   - transport: what sends the requests.
    public init(
        url: String,
        apiKey: String,
        client: String? = nil,
        transport: any TransferTransport = AsyncHTTPTransport.shared
    ) {
        self.url = String(url.reversed().drop { $0 == "/" }.reversed())
        self.apiKey = apiKey
        self.client = client
        self.transport = transport
        do throws(TransferError) {
            try Self.check(url: self.url)
            try Self.check(apiKey: apiKey)
            misconfiguration = nil
        } catch {
            misconfiguration = error
        }
    }

    /// Reads `TRANSFERD_URL`, `TRANSFERD_API_KEY` and, if it is there, `TRANSFERD_CLIENT`.
    ///
    /// - Parameters:
    ///   - environment: the variables.
    ///   - transport: what sends the requests.
    /// - Throws: ``TransferError`` with the code `misconfigured` when one is missing or no request
    ///   can be made with it.
    public init(
        environment: [String: String] = ProcessInfo.processInfo.environment,
        transport: any TransferTransport = AsyncHTTPTransport.shared
    ) throws(TransferError) {
        guard let url = environment["TRANSFERD_URL"],
            let apiKey = environment["TRANSFERD_API_KEY"]
        else {
            throw TransferError(.misconfigured, "TRANSFERD_URL and TRANSFERD_API_KEY must be set.")
        }
        try Self.check(url: url)
        try Self.check(apiKey: apiKey)
        self.init(
            url: url,
            apiKey: apiKey,
            client: environment["TRANSFERD_CLIENT"],
            transport: transport
        )
    }
}

extension TransferService {
    /// Sends a request until it is answered, and returns the response.
    ///
    /// - Throws: the last ``TransferError`` when the policy repeats the request no more.
    func call(_ request: ServiceRequest) async throws(TransferError) -> ServiceResponse {
        try await repeating(request) { () async throws(TransferError) in
            try await once(request)
        }
    }

    /// Sends a request until its response starts, whose body the caller reads.
    func open(_ request: ServiceRequest) async throws(TransferError) -> TransportResponse {
        try await repeating(request) { () async throws(TransferError) in
            try await start(request, isLong: true)
        }
    }

    /// Returns the document of a response.
    func get<Document: Decodable>(
        _ request: ServiceRequest,
        as type: Document.Type = Document.self
    ) async throws(TransferError) -> Document {
        try await call(request).document()
    }

    /// Returns the document that an open response brings.
    func document<Document: Decodable>(
        of response: TransportResponse,
        as type: Document.Type = Document.self
    ) async throws(TransferError) -> Document {
        let body = try await Self.collect(response, upTo: Self.responseBytesMax)
        return try ServiceResponse(response, body: body).document()
    }

    private func repeating<Response>(
        _ request: ServiceRequest,
        _ send: () async throws(TransferError) -> Response
    ) async throws(TransferError) -> Response {
        var attempts = 0
        var hasLostResponse = false
        while true {
            attempts += 1
            do throws(TransferError) {
                return try await send()
            } catch {
                var error = error
                error.followsLostResponse = hasLostResponse
                let delay = retryPolicy.delay(
                    after: error,
                    attempts: attempts,
                    isRepeatable: request.isRepeatable,
                    fraction: .random(in: 0...1)
                )
                guard let delay else { throw error }
                // What any request may be repeated after has not been done, and a GET does nothing.
                if request.method != "GET", !RetryPolicy.isCurable(error, isRepeatable: false) {
                    hasLostResponse = true
                }
                try await Self.pause(delay)
            }
        }
    }

    /// Waits, or throws when the caller is cancelled.
    static func pause(_ duration: Duration) async throws(TransferError) {
        do {
            try await Task.sleep(for: duration)
        } catch {
            throw TransferError(.cancelled, "The request was cancelled.")
        }
    }

    private func once(_ request: ServiceRequest) async throws(TransferError) -> ServiceResponse {
        // The response as a whole has the time of an attempt, not only its start.
        let response = await withDeadline(timeout) { () async throws(TransferError) in
            let response = try await start(request, isLong: false)
            let body = try await Self.collect(response, upTo: Self.responseBytesMax)
            return ServiceResponse(response, body: body)
        }
        return try response.get()
    }

    private func start(
        _ request: ServiceRequest,
        isLong: Bool
    ) async throws(TransferError) -> TransportResponse {
        if let misconfiguration { throw misconfiguration }
        let response: TransportResponse
        do throws(TransportFailure) {
            response = try await transport.send(
                TransportRequest(
                    method: request.method,
                    url: url + request.target(client: client),
                    headers: [("Authorization", "Bearer \(apiKey)")] + request.headers,
                    body: request.body,
                    timeout: request.timeout ?? timeout,
                    isLong: isLong
                )
            )
        } catch {
            throw TransferError(error)
        }
        if (200..<300).contains(response.status) || response.status == request.statusOfDocument {
            return response
        }
        let body = try await Self.collect(response, upTo: Self.problemBytesMax)
        throw TransferError(ServiceResponse(response, body: body))
    }

    private static func collect(
        _ response: TransportResponse,
        upTo bytesMax: Int
    ) async throws(TransferError) -> [UInt8] {
        var bytes: [UInt8] = []
        do {
            for try await part in response.body {
                bytes += part
                guard bytes.count <= bytesMax else {
                    throw TransferError(.unexpectedResponse, "The response is too long.")
                }
            }
        } catch {
            throw TransferError(reading: error)
        }
        // A sequence may just end when its reader is cancelled.
        guard !Task.isCancelled else {
            throw TransferError(.cancelled, "The request was cancelled.")
        }
        return bytes
    }
}

extension TransferService {
    /// The ports that a connection can be made to.
    private static let ports = 1...65_535
    /// The bytes that a key has: those of ASCII that can be seen.
    private static let keyBytes = UInt8(ascii: "!")...UInt8(ascii: "~")

    /// Checks whether requests can be sent to a URL.
    ///
    /// - Parameter url: the URL as ``init(url:apiKey:client:transport:)`` takes it.
    /// - Throws: ``TransferError`` with the code `misconfigured` unless it starts with `http://` or
    ///   `https://`, names a host and perhaps a port from 1 to 65535, and has no user, query or
    ///   fragment, and no `/v1` at its end.
    public static func check(url: String) throws(TransferError) {
        guard isUsable(url) else {
            throw TransferError(
                .misconfigured,
                "The URL of a service starts with http:// or https:// and names a host; a port is "
                    + "from 1 to 65535, there is no user, query or fragment, and no /v1 at its end."
            )
        }
    }

    /// Checks whether a key can be sent.
    ///
    /// - Parameter apiKey: the key.
    /// - Throws: ``TransferError`` with the code `misconfigured`, and nothing of the key, unless it
    ///   has visible characters of ASCII alone.
    public static func check(apiKey: String) throws(TransferError) {
        guard !apiKey.isEmpty, apiKey.utf8.allSatisfy({ keyBytes.contains($0) }) else {
            throw TransferError(
                .misconfigured,
                "The API key is empty or has characters that no key has, such as the end of a line."
            )
        }
    }

    private static func isUsable(_ text: String) -> Bool {
        guard let url = URLComponents(string: text),
            let scheme = url.scheme, ["http", "https"].contains(scheme.lowercased()),
            url.host?.isEmpty == false
        else { return false }
        // A port of too many digits has a place in the text, but no value.
        if url.rangeOfPort != nil {
            guard let port = url.port, ports.contains(port) else { return false }
        }
        // The path of a proxy may be there; that of the API is added to it.
        guard url.path.split(separator: "/").last != "v1" else { return false }
        return url.user == nil && url.password == nil && url.query == nil && url.fragment == nil
    }
}
