import Testing
import TransferEngine
import TransferModel
import TransferTestSupport

/// An engine's database and origins of a file, the first of which has the task's URL.
struct MirrorStage {
    let fixture: EngineFixture
    let origins: [LoopbackOrigin]

    init(_ count: Int) async throws {
        fixture = try await EngineFixture()
        origins = try (0..<count).map { _ in try LoopbackOrigin() }
    }

    var urls: [String] { origins.map { $0.url("/file") } }

    func submit(_ change: (inout TaskSubmission) -> Void = { _ in }) async throws -> TaskID {
        try await fixture.submit(urls[0]) {
            $0.options.mirrors = Array(urls.dropFirst())
            change(&$0)
        }
    }

    func download(
        _ change: (inout TaskSubmission) -> Void = { _ in },
        configure: (inout EngineConfiguration) -> Void = { _ in }
    ) async throws -> TransferTask {
        let id = try await submit(change)
        return try await fixture.withEngine(configure) { _ in try await fixture.ended(id) }
    }

    /// The requests that each origin has got.
    var requests: [[OriginRequest]] { origins.map { $0.log.now.requests(at: "/file") } }
    /// The bytes of bodies that each has sent.
    var bytesSent: [Int] {
        get async {
            var counts: [Int] = []
            for origin in origins { counts.append(await origin.log.bytesSent(at: "/file")) }
            return counts
        }
    }

    func expect(
        _ body: OriginBody,
        in task: TransferTask,
        leavesParts: Bool = false,
        _ location: SourceLocation = #_sourceLocation
    ) async throws {
        #expect(task.state == .completed, sourceLocation: location)
        #expect(
            OriginBody.sha256(of: try fixture.content(task)) == body.sha256,
            sourceLocation: location
        )
        if !leavesParts { try await fixture.expectNoParts(location) }
    }
}
