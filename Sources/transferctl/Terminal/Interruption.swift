import ArgumentParser
import Foundation
import UnixSignals

/// What Ctrl-C does to a command whose transfers go on without it: the first leaves them to the
/// service, a second one cancels them, and any further one ends the command at once.
enum Interruption {
    /// The time for a second Ctrl-C after the first.
    static let secondWithin: Duration = .seconds(2)
    /// The time that leaving the transfers to the service may take.
    static let detachMax: Duration = .seconds(30)
    /// The exit code of a command that was interrupted: 128 and the number of SIGINT.
    static let exitCode = ExitCode(130)

    private enum Moment: Sendable {
        case ended, signal
        /// There was no second signal.
        case quiet
        /// The service has not answered in time.
        case late
        /// What follows a signal is done, or has failed.
        case settled((any Error)?)
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
        let trapped = await UnixSignalsSequence(trapping: .sigint, .sigterm)
        let (signals, source) = AsyncStream.makeStream(of: Void.self)
        try await withThrowingTaskGroup(of: Moment.self) { group in
            group.addTask {
                try await work()
                return .ended
            }
            // The sequence has one reader, so each signal is passed on to whoever waits for it.
            group.addTask {
                for await _ in trapped { source.yield() }
                return .ended
            }
            group.addTask { await next(signals) }
            defer { group.cancelAll() }
            guard case .signal = try await group.next() else { return }
            group.addTask { await next(signals) }
            reporter.note("Detaching; the transfers go on. \(advice())")
            // A script that interrupts the command has nobody for a second Ctrl-C.
            guard reporter.isLive else {
                try await settle(&group, reporter, within: detachMax, detach)
                throw exitCode
            }
            reporter.note("Ctrl-C again within two seconds cancels them.")
            group.addTask { await moment(.quiet, after: secondWithin) }
            switch try await group.next() {
            case .signal:
                group.addTask { await next(signals) }
                try await settle(&group, reporter, within: nil, cancel)
                reporter.note("Cancelled.")
                throw exitCode
            case .ended: return
            case .quiet, .late, .settled, nil:
                try await settle(&group, reporter, within: detachMax, detach)
                throw exitCode
            }
        }
    }

    /// Does what follows a signal, and ends the process when another one or the time is earlier.
    ///
    /// Nothing else ends a call to a service that does not answer: it is repeated for minutes.
    private static func settle(
        _ group: inout ThrowingTaskGroup<Moment, any Error>,
        _ reporter: ProgressReporter,
        within limit: Duration?,
        _ step: @escaping @Sendable () async throws -> Void
    ) async throws {
        group.addTask {
            do {
                try await step()
                return .settled(nil)
            } catch {
                return .settled(error)
            }
        }
        if let limit { group.addTask { await moment(.late, after: limit) } }
        while let moment = await group.nextResult() {
            switch moment {
            case .success(.settled(let error)):
                if let error { throw error }
                return
            case .success(.signal), .success(.late):
                reporter.note("Transfers that the service has go on, and are found in a minute.")
                exit(exitCode.rawValue)
            // The work ends with the session that it was about.
            case .success(.ended), .success(.quiet), .failure: continue
            }
        }
    }

    private static func moment(_ moment: Moment, after time: Duration) async -> Moment {
        do {
            try await Task.sleep(for: time)
            return moment
        } catch {
            // Nobody waits for it any more.
            return .ended
        }
    }

    private static func next(_ signals: AsyncStream<Void>) async -> Moment {
        for await _ in signals { return .signal }
        return .ended
    }
}
