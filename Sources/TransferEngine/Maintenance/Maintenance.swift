import Logging
import PollLoop
import ServiceLifecycle
import TransferStore

/// The service that does chores, each in a loop of its own: one that fails, or has much to do,
/// delays no other.
struct Maintenance: Service {
    /// The longest time before a failed chore is tried again, however rarely it runs otherwise.
    private static let retryInterval: Duration = .seconds(60)

    let chores: [Chore]
    let logger: Logger

    /// Runs until the group shuts down gracefully, or until cancelled.
    func run() async throws {
        await cancelWhenGracefulShutdown { await runAll() }
    }

    private func runAll() async {
        await withDiscardingTaskGroup { group in
            for chore in chores { group.addTask { await run(chore) } }
        }
    }

    private func run(_ chore: Chore) async {
        let turn = chore.makeTurn()
        var log = FailureLog(chore.name, logger: logger)
        while !Task.isCancelled {
            let pause: Duration
            switch await log.watch(turn) {
            case .more: continue
            case .after(let wait): pause = wait
            case .rest: pause = chore.interval.jittered
            case nil: pause = min(chore.interval, Self.retryInterval).jittered
            }
            await Self.wait(for: pause, or: chore.signal)
        }
    }

    /// Returns after the pause, after a signal, or when the task is cancelled.
    private static func wait(for pause: Duration, or signal: WakeSignal?) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                do { try await Task.sleep(for: pause) } catch { return }
            }
            if let signal { group.addTask { await signal.wait() } }
            await group.next()
            group.cancelAll()
        }
    }
}
