import Foundation
import Glibc
import Logging
import Postgres
import Testing
import TransferContainer
import TransferModel
import TransferStore
import TransferTestSupport

@testable import TransferEngine

/// The removal of files that nobody needs, and of no other.
@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct SweepTests {
    /// The owner that needs a part file, if any does.
    private enum Owner: CaseIterable {
        case attempt, pendingRename, partial, resumeData, revocation, abandoned, outcome
        /// Its task has another file for its result.
        case another
        case nobody, nobodyYet
    }

    private func pruner(
        _ fixture: EngineFixture,
        of database: Database? = nil
    ) throws -> Pruner {
        try Pruner(
            stores: EngineStores(database ?? fixture.stores.database),
            container: Container(directory: fixture.directory),
            retention: Pruner.Retention(
                events: .seconds(30 * 24 * 3600),
                attempts: .seconds(30 * 24 * 3600),
                sessions: .seconds(30 * 24 * 3600)
            ),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
    }

    /// Makes a file that was last written long ago.
    private func place(_ path: String, _ fixture: EngineFixture, isOld: Bool = true) throws {
        try place(path, fixture, hours: isOld ? 2 : 0.5)
    }

    private func place(_ path: String, _ fixture: EngineFixture, hours: Double) throws {
        try fixture.place([1], at: path)
        try age(fixture.directory + "/\(fixture.tenant)/" + path, hours: hours)
    }

    private func age(_ file: String, hours: Double) throws {
        let time = Date() - hours * 3600
        try FileManager.default.setAttributes([.modificationDate: time], ofItemAtPath: file)
    }

    private func name(
        _ fence: Fence,
        of task: TaskID,
        _ owner: Owner,
        _ connection: Connection
    ) async throws {
        let (fence, task, other) = (fence.rawValue, task.uuid, UUID())
        let statement: Query? =
            switch owner {
            case .attempt:
                """
                INSERT INTO attempt (task_id, fence, worker, number, session_id, host_key)
                VALUES (\(task), \(fence), \(Int32(fence >> 40)), 1, \(other), 1)
                """
            case .pendingRename:
                """
                INSERT INTO rename_run (first_fence, session_id, block, number, started_at, task_ids,
                    part_fences, http_statuses, bytes_received, response_heads, inodes,
                    inodes_born_at_ns, gone)
                VALUES (\(fence + 1), \(other), uuid_send(\(task)), 1, now(), ARRAY[\(task)],
                    ARRAY[\(fence)], '{200}', '{1}', '{""}', '{1}', '{1}', ~0::bit(32) >> 1)
                """
            case .partial:
                """
                INSERT INTO partial (task_id, part_fence, boot_id, bytes_durable, bytes_total,
                    validator)
                VALUES (\(task), \(fence), \(other), 1, 2, '"1"')
                """
            case .resumeData:
                """
                INSERT INTO resume_data (id, tenant_id, part_fence, source_task_id, boot_id,
                    bytes_durable, bytes_total, validator)
                VALUES (\(other), \(other), \(fence), \(task), \(other), 1, 2, '"1"')
                """
            case .revocation:
                "INSERT INTO revocation (worker, fence, task_id) VALUES (1, \(fence), \(task))"
            case .abandoned:
                "INSERT INTO abandoned_part (fence, task_id) VALUES (\(fence), \(task))"
            case .outcome, .another:
                """
                INSERT INTO outcome (task_id, session_id, generation, state, attempt,
                    bytes_received, http_status, response_head, part_fence)
                VALUES (\(task), \(other), 1, 'completed', 1, 1, 200, '',
                    \(owner == .another ? fence + 1 : fence))
                """
            case .nobody, .nobodyYet: nil
            }
        if let statement { _ = try await connection.execute(statement) }
    }

    /// Makes another task like one that was submitted.
    private func copy(_ task: TaskID, _ connection: Connection) async throws -> TaskID {
        let copy = TaskID(.version7())
        _ = try await connection.execute(
            """
            INSERT INTO task SELECT (x).* FROM (
                SELECT jsonb_populate_record(t, jsonb_build_object('id', \(copy.uuid))) AS x
                FROM task t WHERE id = \(task.uuid)) y
            """
        )
        return copy
    }

    private func files(_ fixture: EngineFixture) throws -> Set<String> {
        let paths = try FileManager.default.subpathsOfDirectory(atPath: fixture.directory)
        var isFolder: ObjCBool = false
        return Set(
            paths.filter {
                FileManager.default.fileExists(
                    atPath: "\(fixture.directory)/\($0)",
                    isDirectory: &isFolder
                ) && !isFolder.boolValue
            }
        )
    }

    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func aPartFileGoesIfAndOnlyIfNoRowNamesItsFence(seed: UInt64) async throws {
        let fixture = try await EngineFixture()
        let connection = try await TestDatabase.current.connection()
        var generator = SeededGenerator(state: seed)
        var kept: Set<String> = []
        var doomed: Set<String> = []
        let known = try await fixture.submit(fixture.origin.url("/"))
        for counter in 0..<150 {
            let owner = Owner.allCases.randomElement(using: &generator) ?? .nobody
            // Live and dead workers: only the row counts.
            let worker = Int32.random(in: 1...5, using: &generator)
            let fence = Fence(incarnation: worker, counter: Int64(2 * counter))
            let task = try await copy(known, connection)
            let folder = ["a", "a/b", "x.part"].randomElement(using: &generator) ?? "a"
            let destination =
                Bool.random(using: &generator) && owner != .outcome
                ? Destination(path: "\(folder)/file \(counter)", overwrite: true) : nil
            let path = ResultLocation.partPath(of: task, destination: destination, fence: fence)
            try await name(fence, of: task, owner, connection)
            try place(path, fixture, isOld: owner != .nobodyYet)
            if [.nobody, .another].contains(owner) {
                doomed.insert(path)
            } else {
                kept.insert(path)
            }
        }
        let results = [
            "a/done", "a/b/movie.part", "a/b/x.0000010000000000.part.bak",
            // It may be the result of a task in another database.
            ResultLocation.partPath(
                of: TaskID(.version7()),
                destination: nil,
                fence: Fence(incarnation: 1, counter: 1001)
            ),
        ]
        for path in results { try place(path, fixture) }
        kept.formUnion(results)
        // Its tenant belongs to another database.
        let stranger = "\(TenantID(UUID()))/a.0000010000000000.part"
        let file = "\(fixture.directory)/\(stranger)"
        try FileManager.default.createDirectory(
            atPath: (file as NSString).deletingLastPathComponent,
            withIntermediateDirectories: true
        )
        try Data([1]).write(to: URL(filePath: file))
        try age(file, hours: 2)
        // A link out of the container is not followed.
        let outside = try TestFolder("outside")
        defer { withExtendedLifetime(outside) {} }
        let victim = "\(outside.path)/b.0000010000000000.part"
        try Data([1]).write(to: URL(filePath: victim))
        try age(victim, hours: 2)
        try FileManager.default.createSymbolicLink(
            atPath: "\(fixture.directory)/\(fixture.tenant)/link",
            withDestinationPath: outside.path
        )
        // Nor is a link that is named like a part file, which must not end the walk.
        try FileManager.default.createSymbolicLink(
            atPath: "\(fixture.directory)/\(fixture.tenant)/c.0000010000000000.part",
            withDestinationPath: victim
        )
        #expect(!doomed.isEmpty)
        try await pruner(fixture).sweepFiles()
        let left = try files(fixture)
        for path in kept { #expect(left.contains("\(fixture.tenant)/\(path)"), "\(path)") }
        for path in doomed { #expect(!left.contains("\(fixture.tenant)/\(path)"), "\(path)") }
        #expect(left.contains(stranger))
        #expect(FileManager.default.fileExists(atPath: victim))
    }

    /// Such as those of a worker that was killed before anybody was told of them.
    @Test func aResultInAPackGoesIfAndOnlyIfNoRowNamesItsFence() async throws {
        let fixture = try await EngineFixture()
        let connection = try await TestDatabase.current.connection()
        let known = try await fixture.submit(fixture.origin.url("/"))
        let container = try Container(directory: fixture.directory)
        let packs = Packs(container)
        var kept: Set<String> = []
        func add(_ task: TaskID, _ fence: Fence, isKept: Bool) throws {
            try self.add(task, fence, to: packs, container, fixture)
            let path = ResultLocation.partPath(of: task, destination: nil, fence: fence)
            if isKept { kept.insert(path) }
        }
        for (index, owner) in Owner.allCases.enumerated() where owner != .nobodyYet {
            let fence = Fence(incarnation: 3, counter: Int64(2 * index))
            let task = try await copy(known, connection)
            try await name(fence, of: task, owner, connection)
            try add(task, fence, isKept: ![.nobody, .another].contains(owner))
        }
        // It may be the result of a task in another database.
        try add(TaskID(.version7()), Fence(incarnation: 3, counter: 101), isKept: true)
        let folder = "\(fixture.directory)/\(fixture.tenant)/\(ResultLocation.packFolder)"
        let pack = try #require(try FileManager.default.contentsOfDirectory(atPath: folder).first)
        let pruner = try pruner(fixture)
        // One that was written to a moment ago is left alone.
        try await pruner.sweepFiles()
        #expect(fixture.files().count > kept.count)
        try age("\(folder)/\(pack)", hours: 2)
        try await pruner.sweepFiles()
        #expect(Set(fixture.files()) == kept)
    }

    @Test func anEmptyPackGoesUnlessItsWriterLives() async throws {
        let fixture = try await EngineFixture()
        let task = try await fixture.submit(fixture.origin.url("/"))
        let container = try Container(directory: fixture.directory)
        let packs = Packs(container)
        let fence = Fence(incarnation: 3, counter: 1)
        try add(task, fence, to: packs, container, fixture)
        try container.removePart(at: place(of: task, fence, fixture))
        let path = ResultLocation.packPath(of: fence)
        let file = "\(fixture.directory)/\(fixture.tenant)/\(path)"
        try age(file, hours: 2)
        try await pruner(fixture).sweepFiles()
        #expect(FileManager.default.fileExists(atPath: file))
        try add(task, fence, to: packs, container, fixture)
        packs.close()
        try container.removePart(at: place(of: task, fence, fixture))
        // As a killed process leaves it.
        try self.place(path, fixture)
        try await pruner(fixture).sweepFiles()
        #expect(!FileManager.default.fileExists(atPath: file))
    }

    @Test func anEmptyPackGoesSoonAfterItsWriter() async throws {
        let fixture = try await EngineFixture()
        let task = TaskID(.version7())
        let container = try Container(directory: fixture.directory)
        let packs = Packs(container)
        let size = Int64(ResultLocation.packFences)
        let fences = (0..<4).map { Fence(incarnation: 3, counter: $0 * size) }
        for fence in fences[..<2] { try add(task, fence, to: packs, container, fixture) }
        try container.removePart(at: place(of: task, fences[0], fixture))
        try place(ResultLocation.packPath(of: fences[2]), fixture, hours: 0)
        // What lies there for longer is left to the search for files of nobody.
        try place(ResultLocation.packPath(of: fences[3]), fixture, hours: 0.5)
        try await pruner(fixture).sweepEmptyPacks()
        let kept = [fences[0], fences[1], fences[3]].map { ResultLocation.packPath(of: $0) }
        #expect(try files(fixture) == Set(kept.map { "\(fixture.tenant)/\($0)" }))
    }

    private func place(
        of task: TaskID,
        _ fence: Fence,
        _ fixture: EngineFixture
    ) -> Container.Place {
        Container.Place(partOf: task, destination: nil, fence: fence, tenant: fixture.tenant)
    }

    /// Adds a result to a pack.
    private func add(
        _ task: TaskID,
        _ fence: Fence,
        to packs: Packs,
        _ container: Container,
        _ fixture: EngineFixture
    ) throws {
        let place = place(of: task, fence, fixture)
        try container.prepareDirectory(of: place)
        let packed = [UInt8](repeating: 7, count: 100).withUnsafeBytes {
            packs.add($0, of: task, fence: fence, tenant: fixture.tenant, at: place)
        }
        #expect(packed != nil)
    }

    @Test func oldResultsAreAskedForByAThoroughSearchOnly() async throws {
        let fixture = try await EngineFixture()
        let task = try await fixture.submit(fixture.origin.url("/"))
        func orphan(_ counter: Int64, _ destination: Destination?) -> String {
            let fence = Fence(incarnation: 1, counter: counter)
            return ResultLocation.partPath(of: task, destination: destination, fence: fence)
        }
        let (recent, old) = (orphan(1, nil), orphan(2, nil))
        let named = orphan(3, Destination(path: "a", overwrite: true))
        for (path, hours) in [(recent, 2.0), (old, 48), (named, 48)] {
            try place(path, fixture, hours: hours)
        }
        let pruner = try pruner(fixture)
        try await pruner.sweepFiles(isThorough: false)
        #expect(fixture.files() == [old])
        try await pruner.sweepFiles()
        #expect(fixture.files().isEmpty)
    }

    @Test func bodiesGoWithTheirTask() async throws {
        let fixture = try await EngineFixture()
        var ids: [TaskID] = []
        for _ in 0..<2 {
            ids.append(
                try await fixture.submit(fixture.origin.url("/upload")) { submission in
                    submission.request = TransferRequest(kind: .upload, upload: .staged)
                }
            )
        }
        _ = try await fixture.stores.control.cancelTask(tenant: fixture.tenant, id: ids[1])
        let unknown = TaskID(.version7())
        for id in ids + [unknown] { try place(ResultLocation.bodyPath(of: id), fixture) }
        try place(".transferd/bodies/00/readme", fixture)
        let young = TaskID(.version7())
        try place(ResultLocation.bodyPath(of: young), fixture, isOld: false)
        try await pruner(fixture).sweepFiles()
        let left = try files(fixture)
        #expect(
            left
                == Set(
                    [
                        ResultLocation.bodyPath(of: ids[0]), ResultLocation.bodyPath(of: young),
                        ".transferd/bodies/00/readme",
                    ].map { "\(fixture.tenant)/\($0)" }
                )
        )
    }

    /// However young a body is: what it was for has ended.
    @Test func theBodyOfAnEndedUploadGoesAtOnce() async throws {
        let fixture = try await EngineFixture()
        var ids: [TaskID] = []
        for _ in 0..<2 {
            ids.append(
                try await fixture.submit(fixture.origin.url("/upload")) { submission in
                    submission.request = TransferRequest(kind: .upload, upload: .staged)
                }
            )
        }
        _ = try await fixture.stores.control.cancelTask(tenant: fixture.tenant, id: ids[1])
        let unknown = TaskID(.version7())
        for id in ids + [unknown] {
            try place(ResultLocation.bodyPath(of: id), fixture, hours: 0)
        }
        try place("a/file", fixture)
        try await pruner(fixture).sweepBodies()
        let kept = [ids[0], unknown].map { ResultLocation.bodyPath(of: $0) } + ["a/file"]
        #expect(try files(fixture) == Set(kept.map { "\(fixture.tenant)/\($0)" }))
    }

    /// The files that are not the client's own are removed together with their tasks.
    @Test func resultsGoWithTheirTasks() async throws {
        let fixture = try await EngineFixture()
        fixture.origin.when("/file") {
            .file(.random(seed: 7, size: 1000), etag: #""v1""#, for: $0)
        }
        let ids = try await fixture.withEngine { _ in
            let own = try await fixture.submit(fixture.origin.url("/file"))
            let named = try await fixture.submit(fixture.origin.url("/file")) { submission in
                submission.destination = Destination(path: "a/named", overwrite: false)
            }
            try await fixture.expectCompletion([own, named])
            return [own, named]
        }
        let before = try files(fixture)
        #expect(before.count == 2)
        let patient = try pruner(fixture)
        try await patient.expireTasks()
        #expect(try files(fixture) == before)
        var settings = StoreSettings()
        settings.resultRetention = .seconds(-60)
        let eager = try pruner(
            fixture,
            of: Database(pool: TestDatabase.current.pool(), settings: settings)
        )
        try await eager.expireTasks()
        #expect(try files(fixture) == ["\(fixture.tenant)/a/named"])
        for id in ids {
            #expect(try await fixture.stores.tasks.task(tenant: fixture.tenant, id: id) == nil)
            #expect(try await fixture.stores.tasks.isExpired(tenant: fixture.tenant, id: id))
        }
    }
}
