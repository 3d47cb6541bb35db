import Foundation
import PollLoop
import Synchronization

/// One thread that owns one libcurl multi handle for life and runs many transfers at once.
///
/// All transfers of a loop share its kept connections, so transfers that must not share a
/// connection belong on different loops.
package final class CurlLoop: Sendable {
    private let loop: PollLoop
    private let driver: MultiDriver
    private let lastID = Atomic<UInt64>(0)
    private let isStopped = Mutex(false)

    /// The default maximum number of simultaneous transfers.
    package static let connectionsMaxDefault = 1024

    /// Starts the thread.
    ///
    /// - Parameters:
    ///   - name: the thread's name in tools such as `top -H`.
    ///   - connectionsMax: the most transfers at once; one more fails with `tooManyTransfers`.
    ///   - certificateFile: a PEM file of trusted authorities instead of the system's. What was
    ///     read of either is used for a day (CURLOPT_CA_CACHE_TIMEOUT(3)).
    /// - Throws: ``CurlError`` when the process has no descriptor, thread or memory left.
    package convenience init(
        name: String,
        connectionsMax: Int = CurlLoop.connectionsMaxDefault,
        certificateFile: String? = nil
    ) throws(CurlError) {
        try self.init(
            name: name,
            connectionsMax: connectionsMax,
            kept: KeptConnections(countMax: Self.keptMax(for: connectionsMax)),
            names: Self.namePool(),
            certificateFile: certificateFile
        )
    }

    /// Starts the thread of a loop that may be one of several: with ``keptMax(for:loops:)``, and
    /// with `names` as the threads that find addresses.
    init(
        name: String,
        connectionsMax: Int,
        kept: KeptConnections,
        names: BlockingPool<UUID?>,
        certificateFile: String? = nil
    ) throws(CurlError) {
        do {
            loop = try PollLoop(name: name)
        } catch {
            throw CurlError(.outOfMemory)
        }
        do throws(CurlError) {
            driver = try MultiDriver(
                loop: loop,
                connectionsMax: connectionsMax,
                kept: kept,
                names: names,
                certificateFile: certificateFile
            )
        } catch {
            loop.stop()
            throw error
        }
    }

    /// The number of connections that one of several loops keeps open at most, used or not: room
    /// for `connectionsMax` transfers of all of them, and a quarter more.
    static func keptMax(for connectionsMax: Int, loops: Int = 1) -> Int {
        (connectionsMax + connectionsMax / 4) / loops + 1
    }

    /// The number of threads that find addresses; one group, such as a tenant, has at most half of
    /// those that the others leave, and one part of it, such as a session, three quarters of these.
    private static let nameThreadsMax = 16

    /// Starts the first of the threads that find addresses.
    static func namePool() throws(CurlError) -> BlockingPool<UUID?> {
        do throws(PollLoopError) {
            return try BlockingPool(
                name: "names",
                threadsMax: nameThreadsMax,
                perKeyMax: nameThreadsMax / 2,
                perPartMax: nameThreadsMax * 3 / 8
            )
        } catch {
            throw CurlError(.outOfMemory)
        }
    }

    deinit { stop() }

    /// Starts a transfer; callable from any thread.
    ///
    /// The mailbox itself has no limit: callers start only as many transfers as they have slots.
    @discardableResult
    package func start(_ request: CurlRequest, sink: any CurlSink) -> CurlTransfer {
        let transfer = CurlTransfer(
            loop: self,
            id: lastID.add(1, ordering: .relaxed).newValue
        )
        let isPosted = post { [driver] in driver.start(transfer.id, request, sink: sink) }
        if !isPosted { Self.cancel(sink) }
        return transfer
    }

    /// Ends a transfer that is not to start any more.
    ///
    /// Its sink's `finish` follows with `cancelled`, on the loop's thread as always, and no
    /// connection is opened.
    package func refuse(_ sink: any CurlSink) {
        if !post({ Self.cancel(sink) }) { Self.cancel(sink) }
    }

    /// Runs `work` on the loop's thread, after what was posted before; not at all once it is
    /// stopped.
    package func perform(_ work: @escaping @Sendable () -> Void) { post(work) }

    private static func cancel(_ sink: any CurlSink) {
        sink.finish(.failure(CurlError(.cancelled)))
    }

    /// Ends the thread, and all remaining transfers with `cancelled`.
    ///
    /// A second call does nothing.
    package func stop() {
        isStopped.withLock { isStopped in
            guard !isStopped else { return }
            isStopped = true
            loop.execute { [driver] in driver.stop() }
            loop.stop()
        }
    }

    func share(_ id: UInt64, _ rates: [SharedRate]) {
        post { [driver] in driver.share(id, rates) }
    }

    func proceed(_ id: UInt64) {
        post { [driver] in driver.proceed(id) }
    }

    func cancel(_ id: UInt64) {
        post { [driver] in driver.cancel(id) }
    }

    /// Posts under the lock, so that nothing is posted after the stop and then lost.
    @discardableResult
    private func post(_ work: @escaping @Sendable () -> Void) -> Bool {
        isStopped.withLock { isStopped in
            if !isStopped { loop.execute(work) }
            return !isStopped
        }
    }
}
