import ArgumentParser
import UnixSignals

/// What Ctrl-C does to a command whose transfers go on without it: the first leaves them to the
/// service, a second one cancels them.
enum Interruption {
    /// The time for a second Ctrl-C after the first.
    static let secondWithin: Duration = .seconds(2)
    /// The exit code of a command that was interrupted: 128 and the number of SIGINT.
    static let exitCode = ExitCode(130)

    private enum Moment: Sendable {
        case ended, signal, timeout
    }

    /// Runs work until it ends or is interrupted.
    ///
    /// - Parameters:
    ///   - reporter: where the words are shown.
    ///   - advice: how to continue with what is left to the service.
    ///   - detach: leaves the transfers to the service.
    ///   - cancel: cancels the transfers.
    ///   - work: the command's work.
    /// - Throws: ``exitCode`` after an interruption.
    static func handling(
        _ reporter: ProgressReporter,
        advice: @escaping @Sendable () -> String,
        detach: @escaping @Sendable () async throws -> Void = {},
        cancel: @escaping @Sendable () async throws -> Void,
        _ work: @escaping @Sendable () async throws -> Void
    ) async throws {
        let signals = await UnixSignalsSequence(trapping: .sigint, .sigterm)
        let (first, firstSource) = AsyncStream.makeStream(of: Void.self)
        let (second, secondSource) = AsyncStream.makeStream(of: Void.self)
        try await withThrowingTaskGroup(of: Moment.self) { group in
            group.addTask {
                try await work()
                return .ended
            }
            // The sequence has one reader, so each signal is passed on to whoever waits for it.
            group.addTask {
                var count = 0
                for await _ in signals {
                    count += 1
                    (count == 1 ? firstSource : secondSource).yield()
                }
                return .timeout
            }
            group.addTask { await next(first) }
            defer { group.cancelAll() }
            guard try await group.next() == .signal else { return }
            // A script that interrupts the command has nobody for a second Ctrl-C.
            guard reporter.isLive else {
                try await detach()
                reporter.note("Detached; the transfers go on. \(advice())")
                throw exitCode
            }
            reporter.note("Detaching; the transfers go on. \(advice())")
            reporter.note("Ctrl-C again within two seconds cancels them.")
            group.addTask { await next(second) }
            group.addTask {
                try await Task.sleep(for: secondWithin)
                return .timeout
            }
            switch try await group.next() {
            case .signal:
                try await cancel()
                reporter.note("Cancelled.")
                throw exitCode
            case .ended: return
            case .timeout, nil:
                try await detach()
                throw exitCode
            }
        }
    }

    private static func next(_ signals: AsyncStream<Void>) async -> Moment {
        for await _ in signals { return .signal }
        return .timeout
    }
}
