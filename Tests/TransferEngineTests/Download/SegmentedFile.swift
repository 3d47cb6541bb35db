import Testing
import TransferModel
import TransferTestSupport

@testable import TransferEngine

/// A file that tests download over several connections.
enum SegmentedFile {
    static let size = 1_500_000
    static let body = OriginBody.random(seed: 31, size: size)
    static let other = OriginBody.random(seed: 32, size: size)
    static let etag = #""v1""#
    static let fields = [("ETag", etag), ("Accept-Ranges", "bytes")]
    /// The number of bytes that the first connection brings before it waits for the second one.
    static let front = 400_000

    /// Configures a single division, as soon as bytes flow, whatever its gain.
    static func once(_ configuration: inout EngineConfiguration) {
        configuration.segments = Segments.Settings(
            bytesMin: Int64(size / 3),
            sampleInterval: .seconds(3600),
            connectionsFirst: 2
        )
    }

    /// Configures the division of a small file into as many segments as are worth it.
    static func often(_ configuration: inout EngineConfiguration) {
        configuration.segments = Segments.Settings(
            bytesMin: 50_000,
            sampleInterval: .milliseconds(20)
        )
    }

    /// The number of bytes that the second connection brings before it waits.
    static let behind = 300_000

    /// Makes both connections wait after their first bytes until the gate is opened.
    @discardableResult
    static func hold(_ origin: LoopbackOrigin) -> OriginGate {
        let gate = OriginGate()
        origin.when("/file") {
            let after = $0["Range"] == nil ? front : behind
            return .file(body, etag: etag, for: $0, pause: (after, gate))
        }
        return gate
    }

    /// Downloads the file until the end.
    static func run(
        _ fixture: EngineFixture,
        _ url: String? = nil,
        _ configure: @escaping @Sendable (inout EngineConfiguration) -> Void = once,
        change: (inout TaskSubmission) -> Void = { _ in }
    ) async throws -> TransferTask {
        let id = try await fixture.submit(url ?? fixture.origin.url("/file"), change)
        return try await fixture.withEngine(configure) { _ in try await fixture.ended(id) }
    }

    /// Returns the range of a request.
    static func range(_ request: OriginRequest) throws -> Range<Int> {
        let bounds = try #require(request["Range"]).dropFirst("bytes=".count).split(separator: "-")
        let first = try #require(bounds.first.flatMap { Int($0) })
        return first..<(bounds.count == 2 ? try #require(Int(bounds[1])) + 1 : size)
    }
}
