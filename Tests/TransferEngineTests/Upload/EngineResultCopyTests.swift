import Foundation
import Glibc
import Postgres
import Testing
import TransferEngine
import TransferModel
import TransferStore
import TransferTestSupport

/// Uploads of what other tasks have downloaded.
@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct EngineResultCopyTests {
    private static let body = OriginBody.random(seed: 80, size: 1_000_000)

    private func fixture() async throws -> EngineFixture {
        let fixture = try await EngineFixture()
        fixture.origin.when("/source", .response(body: Self.body))
        fixture.origin.when("/in") { _ in .response(201) }
        return fixture
    }

    private func copy(_ fixture: EngineFixture, from task: TaskID) async throws -> TransferTask {
        let id = try await fixture.submit(fixture.origin.url("/in")) {
            $0.request = TransferRequest(upload: .copy(.result(of: task)))
        }
        return try await fixture.withEngine { _ in try await fixture.ended(id) }
    }

    private func received(_ fixture: EngineFixture) -> [OriginRequest] {
        fixture.origin.log.now.requests(at: "/in")
    }

    /// One that is small enough lies in a pack.
    @Test func aResultInAPackIsSent() async throws {
        let fixture = try await fixture()
        let small = OriginBody.random(seed: 81, size: 40_000)
        fixture.origin.when("/small", .response(body: small))
        let download = try await fixture.submit(fixture.origin.url("/small"))
        try await fixture.withEngine { _ in _ = try await fixture.ended(download) }
        let packs = "\(fixture.container)/\(ResultLocation.packFolder)"
        #expect(try FileManager.default.contentsOfDirectory(atPath: packs).count == 1)
        let task = try await copy(fixture, from: download)
        #expect(task.state == .completed)
        #expect(task.bytesSent == 40_000)
        #expect(received(fixture).first.map { OriginBody.sha256(of: $0.body) } == small.sha256)
        #expect(fixture.origin.log.now.requests(at: "/small").count == 1)
    }

    @Test(arguments: [nil, "kept/file"])
    func theResultOfATaskIsSent(destination: String?) async throws {
        let fixture = try await fixture()
        let download = try await fixture.submit(fixture.origin.url("/source")) {
            $0.destination = destination.flatMap { Destination(path: $0, overwrite: false) }
        }
        try await fixture.withEngine { _ in _ = try await fixture.ended(download) }
        let task = try await copy(fixture, from: download)
        #expect(task.state == .completed)
        #expect(received(fixture).first.map { OriginBody.sha256(of: $0.body) } == Self.body.sha256)
        #expect(fixture.origin.log.now.requests(at: "/source").count == 1)
    }

    /// As a backup does, or who gives a volume's files to their owner again.
    @Test func aNewNameAndModeOfAFileAreNoChangeOfIt() async throws {
        let fixture = try await fixture()
        let path = "\(fixture.container)/kept/file"
        fixture.origin.when("/in") { _ in
            link(path, "\(path).backup")
            chmod(path, 0o640)
            return .response(201)
        }
        let download = try await fixture.submit(fixture.origin.url("/source")) {
            $0.destination = Destination(path: "kept/file", overwrite: false)
        }
        try await fixture.withEngine { _ in _ = try await fixture.ended(download) }
        #expect(try await copy(fixture, from: download).state == .completed)
    }

    @Test func theFileOfAnotherTaskIsNotSentInstead() async throws {
        let fixture = try await fixture()
        let other = OriginBody.random(seed: 82, size: 1_000_000)
        fixture.origin.when("/other", .response(body: other))
        var downloads: [TaskID] = []
        for path in ["/source", "/other"] {
            let download = try await fixture.submit(fixture.origin.url(path)) {
                $0.destination = Destination(path: "kept/latest", overwrite: true)
            }
            try await fixture.withEngine { _ in _ = try await fixture.ended(download) }
            downloads.append(download)
        }
        let former = try await copy(fixture, from: downloads[0])
        #expect(former.failure?.code == .sourceMissing)
        #expect(received(fixture).isEmpty)
        let latest = try await copy(fixture, from: downloads[1])
        #expect(latest.state == .completed)
        #expect(received(fixture).first.map { OriginBody.sha256(of: $0.body) } == other.sha256)
    }

    @Test func aResultThatIsGoneOrOthersIsMissing() async throws {
        let fixture = try await fixture()
        let other = try await fixture.anotherTenant()
        let theirs = try await fixture.submit(fixture.origin.url("/source"), of: other)
        let failed = try await fixture.submit(fixture.origin.url("/nothing"))
        try await fixture.withEngine { _ in
            _ = try await fixture.ended(failed)
            await fixture.origin.log.wait { $0.requestsOpen == 0 && !$0.requests.isEmpty }
            try await eventually("the other tenant's download has ended") {
                try await fixture.stores.tasks.task(tenant: other, id: theirs)?.state == .completed
            }
        }
        let copies = fixture.stores.copies
        #expect(try await copies.keptResults(of: [theirs], tenant: other) == [theirs])
        #expect(try await copies.keptResults(of: [theirs], tenant: fixture.tenant) == [])
        for source in [theirs, failed, TaskID(.version7())] {
            let task = try await copy(fixture, from: source)
            #expect(task.failure?.code == .sourceMissing)
        }
        #expect(received(fixture).isEmpty)
    }

    /// It would otherwise hold up every copy that is claimed with it, again and again.
    @Test func aResultThatNamesNoFileIsMissing() async throws {
        let fixture = try await fixture()
        let download = try await fixture.submit(fixture.origin.url("/source"))
        try await fixture.withEngine { _ in _ = try await fixture.ended(download) }
        let aside = try await TestDatabase.current.connection()
        _ = try await aside.execute("UPDATE outcome SET part_fence = NULL")
        await aside.close()
        let kept = try await fixture.stores.copies.keptResults(
            of: [download],
            tenant: fixture.tenant
        )
        try #require(kept.isEmpty)
        let task = try await copy(fixture, from: download)
        #expect(task.failure?.code == .sourceMissing)
        #expect(received(fixture).isEmpty)
    }
}
