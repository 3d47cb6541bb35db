import EventLoop
import Foundation
import Logging
import TransferContainer
import TransferModel
import TransferStore

/// Removes files of a container for those who know that nobody needs them, and finds those that
/// look so; on a thread of its own, because directories and files block.
actor ContainerSweeper {
    /// Entries looked at at a time.
    static let entriesMax = 1000
    /// What was written later is left alone: whoever writes it may not have come to say so.
    static let ageMin: Duration = .seconds(3600)
    /// Results that are older were asked for by many a search before.
    static let resultAgeMax: Duration = .seconds(26 * 3600)

    /// A file that may be of nobody.
    enum Leftover: Sendable {
        /// The part file of an attempt at a task with a destination.
        case part(Fence)
        /// The part file of an attempt at another task, or its result.
        case result(TaskID, Fence)
        /// What a client brought for an upload.
        case body(TaskID)

        fileprivate var isResult: Bool { if case .result = self { true } else { false } }
    }

    /// The files among a batch of entries that may be of nobody.
    struct Batch: Sendable {
        var leftovers: [(kind: Leftover, place: Container.Place)] = []
    }

    private nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private let container: Container
    private let logger: Logger
    private var walk: ContainerWalk?

    /// Starts its thread.
    init(_ container: Container, logger: Logger) throws(EventLoopError) {
        loop = try EventLoop(name: "sweeper")
        self.container = container
        self.logger = logger
    }

    deinit { loop.stop() }

    /// The tenants that have a folder, whether they exist or not.
    func tenants() throws(StorageError) -> [TenantID] {
        try container.folders().compactMap { name in
            UUID(uuidString: name).map { TenantID($0) }.flatMap { "\($0)" == name ? $0 : nil }
        }
    }

    /// Begins to go through a tenant's files.
    func begin(_ tenant: TenantID) throws(StorageError) {
        walk = try container.walk(tenant.description)
    }

    /// The next batch of a tenant's files, with old results only if it is to be thorough; nil behind
    /// the last.
    ///
    /// What was written since `ageMin` ago is left out, however it looks.
    func next(
        of tenant: TenantID,
        isThorough: Bool,
        ageMin: Duration = ContainerSweeper.ageMin
    ) -> Batch? {
        guard let walk else { return nil }
        var batch = Batch()
        for _ in 0..<Self.entriesMax {
            guard let entry = walk.next() else {
                self.walk = nil
                break
            }
            let path = "\(entry.directory)/\(entry.name)".dropFirst(tenant.description.count + 1)
            guard let kind = Leftover(path: path),
                let age = container.age(of: entry), age >= ageMin,
                isThorough || age < Self.resultAgeMax || !kind.isResult
            else { continue }
            batch.leftovers.append((kind, Container.Place(String(path), tenant: tenant)))
        }
        return batch
    }

    /// The sizes of files, in the order of `places`; nil where there is none.
    func sizes(of places: [Container.Place]) throws(StorageError) -> [Int64?] {
        var sizes: [Int64?] = []
        for place in places { sizes.append(try container.size(of: place)) }
        return sizes
    }

    /// Removes files.
    ///
    /// - Returns: how many are gone.
    func remove(_ places: [Container.Place]) -> Int {
        places.count { container.discard($0, logger) }
    }

    /// Removes the files of ended tasks.
    ///
    /// - Returns: the tasks whose files are gone.
    func remove(_ remains: [TaskRemains]) -> [TaskID] { container.discard(remains, logger) }
}

extension ContainerSweeper.Leftover {
    /// Nil of a file that is somebody's for sure, by its path in the container of its tenant.
    init?(path: Substring) {
        if let fence = ResultLocation.fence(ofPart: path) {
            self = .part(fence)
        } else if let attempt = ResultLocation.attempt(ofPart: path) {
            self = .result(attempt.task, attempt.fence)
        } else if path.hasPrefix("\(ResultLocation.bodyFolder)/"),
            let name = path.split(separator: "/").last,
            let task = UUID(uuidString: String(name))
        {
            self = .body(TaskID(task))
        } else {
            return nil
        }
    }
}
