import PollLoop
import Foundation
import Logging
import TransferContainer
import TransferModel
import TransferStore

/// The actor that removes container files for callers who know that nobody needs them, and finds
/// files that look unneeded; on a thread of its own, because directories and files block.
actor ContainerSweeper {
    /// The number of directory entries examined at a time.
    static let entriesMax = 1000
    /// The minimum age of a file; a younger one is left alone, for its writer may not have recorded
    /// it yet.
    static let ageMin: Duration = .seconds(3600)
    /// The maximum age of results in a search that is not thorough; many earlier searches have
    /// asked for older ones.
    static let resultAgeMax: Duration = .seconds(26 * 3600)
    /// The maximum time since the last change of a pack that ``removeEmptyPacks(of:)`` opens; its
    /// writer has closed it, or is dead, long before.
    static let emptyPackAgeMax: Duration = .seconds(600)

    /// A file that may belong to nobody.
    struct Leftover: Sendable {
        enum Kind: Sendable {
            /// The part file of an attempt at a task with a destination.
            case part(Fence)
            /// The part file of an attempt at another task, or its result.
            case result(TaskID, Fence)
            /// The body that a client sent for an upload.
            case body(TaskID)
            /// A pack without results, to which nobody adds any.
            case emptyPack

            fileprivate var isResult: Bool { if case .result = self { true } else { false } }
        }

        let kind: Kind
        let place: Container.Place
    }

    private nonisolated let loop: PollLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private let container: Container
    private let logger: Logger
    /// The searches under way, by the folder that they go through.
    private var walks: [String: ContainerWalk] = [:]

    /// Starts its thread.
    init(_ container: Container, logger: Logger) throws(PollLoopError) {
        loop = try PollLoop(name: "sweeper")
        self.container = container
        self.logger = logger
    }

    deinit { loop.stop() }

    /// Returns the tenants that have a folder, whether they exist or not.
    func tenants() throws(StorageError) -> [TenantID] {
        try container.folders().compactMap { name in
            UUID(uuidString: name).map { TenantID($0) }.flatMap { "\($0)" == name ? $0 : nil }
        }
    }

    /// Starts going through a tenant's files, or those beneath one of its folders.
    func begin(_ tenant: TenantID, beneath folder: String? = nil) throws(StorageError) {
        let path = Self.path(of: tenant, folder)
        walks[path] = try container.walk(path)
    }

    private static func path(of tenant: TenantID, _ folder: String?) -> String {
        folder.map { "\(tenant)/\($0)" } ?? tenant.description
    }

    /// Returns those of the next files that ``begin(_:beneath:)`` named which may belong to nobody,
    /// with old results only if it is to be thorough; nil after the last file.
    ///
    /// Files younger than `ageMin` are left out, whatever they look like.
    func next(
        of tenant: TenantID,
        beneath folder: String? = nil,
        isThorough: Bool,
        ageMin: Duration = ContainerSweeper.ageMin
    ) -> [Leftover]? {
        let folderPath = Self.path(of: tenant, folder)
        guard let walk = walks[folderPath] else { return nil }
        var batch: [Leftover] = []
        for _ in 0..<Self.entriesMax where batch.count < Self.entriesMax {
            guard let entry = walk.next() else {
                walks[folderPath] = nil
                break
            }
            let path = Self.path(of: entry, of: tenant)
            let place = Container.Place(String(path), tenant: tenant)
            let kind = Leftover.Kind(path: path)
            guard kind != nil || place.isPack,
                let age = container.age(of: entry), age >= ageMin,
                isThorough || age < Self.resultAgeMax || !(kind?.isResult ?? true)
            else { continue }
            batch +=
                kind.map { [Leftover(kind: $0, place: place)] }
                ?? leftovers(inPackAt: place, of: tenant)
        }
        return batch
    }

    /// Returns the path of an entry in its tenant's container.
    private static func path(of entry: ContainerWalk.Entry, of tenant: TenantID) -> Substring {
        "\(entry.directory)/\(entry.name)".dropFirst(tenant.description.count + 1)
    }

    /// Returns the results in a pack, or the pack if it has none.
    private func leftovers(
        inPackAt pack: Container.Place,
        of tenant: TenantID
    ) -> [Leftover] {
        do throws(StorageError) {
            guard let attempts = try container.attempts(inPackAt: pack) else { return [] }
            guard !attempts.isEmpty else { return [Leftover(kind: .emptyPack, place: pack)] }
            return attempts.map { task, fence in
                let place = Container.Place(
                    partOf: task,
                    destination: nil,
                    fence: fence,
                    tenant: tenant
                )
                return Leftover(kind: .result(task, fence), place: place)
            }
        } catch {
            logger.warning("pack not read", metadata: ["error": "\(error)"])
            return []
        }
    }

    /// Returns the sizes of files, in the order of `places`; nil where there is none.
    func sizes(of places: [Container.Place]) throws(StorageError) -> [Int64?] {
        var sizes: [Int64?] = []
        for place in places { sizes.append(try container.size(of: place)) }
        return sizes
    }

    /// Removes files.
    ///
    /// - Returns: the number of files that are gone.
    func remove(_ places: [Container.Place]) -> Int {
        places.count { container.discard($0, logger) }
    }

    /// Removes a tenant's packs that have neither results nor a writer, of those changed lately.
    ///
    /// While its writer lives, a pack stays when its last result goes; and the writer may be
    /// killed, or lack what it takes, before it has removed the pack.
    func removeEmptyPacks(of tenant: TenantID) throws(StorageError) {
        let walk = try container.walk(Self.path(of: tenant, ResultLocation.packFolder))
        while let entry = walk.next() {
            let place = Container.Place(String(Self.path(of: entry, of: tenant)), tenant: tenant)
            guard place.isPack, let age = container.age(of: entry), age <= Self.emptyPackAgeMax
            else { continue }
            container.discard(place, logger)
        }
    }

    /// Removes files of a tenant that is being removed, whatever they are, and its folders after
    /// the last.
    ///
    /// - Returns: whether nothing is left.
    func removeSome(of tenant: TenantID) throws(StorageError) -> Bool {
        try container.removeSome(of: tenant.description, max: Self.entriesMax)
    }

    /// Removes the files of ended tasks.
    ///
    /// - Returns: the tasks whose files are gone.
    func remove(_ remains: [TaskRemains]) -> [TaskID] { container.discard(remains, logger) }
}

extension ContainerSweeper.Leftover.Kind {
    /// Creates the kind of a file from its path in its tenant's container; nil for a file that
    /// certainly belongs to somebody.
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
