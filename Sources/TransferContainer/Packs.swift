import Glibc
import Synchronization
package import TransferModel

/// The packs to which a worker adds its small results, because most of what such a result costs is
/// its file.
///
/// A pack has results of one tenant, of consecutive fences of one worker. Only the process that has
/// created it adds to it, as long as that has it open.
package final class Packs: Sendable {
    /// The maximum size of a result in a pack, in bytes: a larger one has less to gain.
    package static let resultBytesMax = 64 << 10
    /// The maximum number of open packs.
    package static let openMax = 64
    /// The maximum size of all bodies that are gathered in memory at once, in bytes.
    package static let gatheredBytesMax: Int64 = 16 << 20

    private struct Key: Hashable {
        let tenant: TenantID
        let first: Fence
    }

    private struct State {
        var packs: [Key: Pack] = [:]
        /// The packs that were added to since the last look for idle ones.
        var busy: Set<Key> = []
        /// The first fence of the newest pack that was asked for.
        var newest: Fence?
        /// The flushes that the open packs depend on.
        var flushes = Pack.Flushes()

        /// Closes the packs of fences that were given out long ago; few of those are still at work.
        mutating func proceed(to first: Fence) {
            guard first.rawValue > newest?.rawValue ?? .min else { return }
            newest = first
            packs = packs.filter { isOpen($0.key.first) }
        }

        func isOpen(_ first: Fence) -> Bool {
            guard let newest else { return true }
            return first.rawValue >= newest.rawValue - Int64(ResultLocation.packFences)
        }
    }

    private let container: Container
    private let state = Mutex(State())
    private let gatheredBytes = Atomic<Int64>(0)

    package init(_ container: Container) { self.container = container }

    /// Reserves memory for a body until ``release(_:)``.
    ///
    /// - Returns: whether the body may be gathered there.
    package func reserve(_ bytes: Int64) -> Bool {
        let after = gatheredBytes.add(bytes, ordering: .relaxed).newValue
        if after > Self.gatheredBytesMax { release(bytes) }
        return after <= Self.gatheredBytesMax
    }

    /// Gives back what ``reserve(_:)`` has reserved.
    package func release(_ bytes: Int64) { gatheredBytes.subtract(bytes, ordering: .relaxed) }

    /// Adds the result of an attempt without a destination to a pack, not durably yet.
    ///
    /// `result` is whole, and `place` that of a file of its own, whose directory has been prepared.
    ///
    /// - Returns: nil when it has to have that file: because it is empty or too large, because it
    ///   comes too late, or because no pack can be written, and then the file will tell why.
    package func add(
        _ result: UnsafeRawBufferPointer,
        of task: TaskID,
        fence: Fence,
        tenant: TenantID,
        at place: Container.Place
    ) -> PackedResult? {
        guard (1...Self.resultBytesMax).contains(result.count) else { return nil }
        do throws(StorageError) {
            guard let pack = try pack(Key(tenant: tenant, first: fence.firstInPack)),
                try pack.add(result, of: task, at: fence.indexInPack)
            else { return nil }
            return PackedResult(pack: pack, place: place, fence: fence)
        } catch {
            // Its directory was made with that of the file, and is made again with it.
            if error.errno == ENOENT { container.forgetDirectory(of: place) }
            return nil
        }
    }

    private func pack(_ key: Key) throws(StorageError) -> Pack? {
        try state.withLock { state throws(StorageError) in
            state.proceed(to: key.first)
            if let pack = state.packs[key] {
                state.busy.insert(key)
                return pack
            }
            guard state.isOpen(key.first), state.packs.count < Self.openMax else { return nil }
            let place = Container.Place(
                ResultLocation.packPath(of: key.first),
                tenant: key.tenant
            )
            guard let file = try PackFile(new: place, in: container) else { return nil }
            let pack = Pack(file, state.flushes)
            state.packs[key] = pack
            state.busy.insert(key)
            return pack
        }
    }

    /// Closes all packs because a flush of the whole file system has failed: what they and those
    /// closed before were given so far, no later flush is trusted to make durable.
    package func distrust(_ error: StorageError) {
        state.withLock { state in
            state.flushes.failed(error)
            state.flushes = Pack.Flushes()
        }
        close()
    }

    /// Closes the packs to which nothing was added since the last call.
    ///
    /// Where results are rare, neither a descriptor nor an empty pack is kept for them.
    package func closeIdle() {
        // Closed once the lock is free, because that reads tables.
        _ = state.withLock { state in
            defer {
                state.packs = state.packs.filter { state.busy.contains($0.key) }
                state.busy = []
            }
            return state.packs
        }
    }

    /// Closes all packs.
    package func close() {
        _ = state.withLock { state in
            defer { state.packs = [:] }
            return state.packs
        }
    }
}
