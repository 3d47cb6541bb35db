import ArgumentParser
import Foundation
import Synchronization
import TransferClient
import TransferWire

/// `transferctl get`: downloads URLs into a folder.
struct Get: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Downloads URLs into a folder.",
        discussion: """
            The transfers go on when the command is stopped; `transferctl get` with the same \
            session and no URLs continues with them, a minute later if the command was killed. \
            Those of a command that runs are its own. A file that is there is never replaced: the \
            new one gets a number.
            """
    )

    /// The most results that are read from the service at once: enough for a service that is far
    /// away, and half of the transport's connections.
    private static let saversMax = 32

    /// What is said to a command without URLs that finds nothing.
    private static let nothingToDo = """
        There is nothing to continue with. The transfers of a command that was killed are found a \
        minute later; those of one that runs are its own.
        """

    @OptionGroup var options: ServiceOptions

    @Argument(help: "The URLs; none to continue with those of a stopped command.")
    var urls: [String] = []

    @Option(
        name: .shortAndLong,
        help: "A file with more URLs, one on a line; - for the standard input.",
        completion: .file()
    )
    var input: String?

    @Option(
        name: .shortAndLong,
        help: "The folder of the files, made if it is not there.",
        completion: .directory
    )
    var output = "."

    @Option(help: "The name of the session.")
    var session = "transferctl"

    @Option(help: "The checksum of a single URL's file, such as sha-256=HEX; may be repeated.")
    var checksum: [String] = []

    @Flag(help: "Print each file as JSON on a line.")
    var json = false

    mutating func validate() throws {
        try SessionName.validate(session)
        guard checksum.isEmpty || urls.count == 1 && input == nil else {
            throw ValidationError("A checksum is of one file: name one URL.")
        }
        guard checksum.allSatisfy({ $0.contains("=") }) else {
            throw ValidationError("A checksum has the form sha-256=HEX.")
        }
    }

    mutating func run() async throws {
        let urls = try urls + lines()
        let folder = URL(literal: output)
        // Before anything is submitted: nothing is downloaded that has no place.
        do {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        } catch {
            throw FileFault(output, cannotBe: .made, error)
        }
        let reporter = ProgressReporter()
        let listener = TransferListener(reporter)
        let service = try options.service()
        let session = TransferSession(
            configuration: .command(session),
            service: service,
            delegate: listener
        )
        let found = try await takeOver(session, reporter, beside: urls)
        let new = urls.map { task(for: $0, in: session) }
        let tasks = found + new
        if tasks.isEmpty { reporter.note(Self.nothingToDo) }
        reporter.update { progress, _ in progress.add(tasks.count) }
        let saver = ResultSaver(folder: folder, reporter: reporter)
        let folderWords = ShellWords.option("--output", output)
        let advice = options.command(
            "get",
            "\(ShellWords.option("--session", self.session)) \(folderWords)"
        )
        let failures = options.listOfFailures(in: self.session)
        let json = json
        try await Interruption.handling(reporter) {
            "Continue: \(advice)"
        } detach: {
            await saver.removeRest()
            try await session.close()
        } cancel: {
            await saver.removeRest()
            try await session.close()
            try await Self.cancel(tasks, at: service)
        } _: {
            do {
                // Only now: an interruption says what becomes of what was submitted.
                for task in new { task.resume() }
                try await reporter.whileShowing {
                    try await Self.take(tasks, listener, reporter, listing: failures) { task in
                        let file = try await saver.save(task)
                        try Self.tell(task, file, reporter, isOneOf: tasks.count, json: json)
                    }
                }
            } catch {
                // After an interruption, its own steps do this.
                if !Task.isCancelled {
                    await saver.removeRest()
                    await Self.giveBack(session, reporter)
                }
                throw error
            }
            await saver.removeRest()
            try await session.close()
        }
        let end = reporter.current
        if reporter.isLive {
            Output.complain("\(end.completed) completed, \(end.failed) failed")
        }
        if reporter.hasRefusals { throw ExitCode(2) }
        if end.failed > 0 { throw ExitCode(1) }
    }

    /// Takes over the downloads of a command that was stopped.
    private func takeOver(
        _ session: TransferSession,
        _ reporter: ProgressReporter,
        beside urls: [String]
    ) async throws -> [TransferTask] {
        let found: [Result<TransferTask, ReconnectionError>]
        do throws(TransferError) {
            found = try await session.reconnect()
        } catch {
            // Some pages of them may have been taken over.
            await Self.giveBack(session, reporter)
            throw error
        }
        var tasks: [TransferTask] = []
        for found in found {
            switch found {
            case .failure(let error):
                reporter.note("\(error.taskIdentifier): \(error.message)")
            case .success(let task):
                guard task.kind == .download else { continue }
                // A failure that an earlier command has told of is none of this one's.
                if !urls.isEmpty, task.state == .completed, task.error != nil { continue }
                if task.state == .suspended { task.resume() }
                tasks.append(task)
            }
        }
        return tasks
    }

    /// Gives the tasks of a command that has failed back, so that the next one finds them at once.
    private static func giveBack(
        _ session: TransferSession,
        _ reporter: ProgressReporter
    ) async {
        do throws(TransferError) {
            try await session.close()
        } catch {
            reporter.note("The next command finds the transfers only in a minute: \(error)")
        }
    }

    /// Returns the lines of the input that are not blank.
    private func lines() throws -> [String] {
        guard let input else { return [] }
        let bytes: Data
        do {
            bytes =
                input == "-"
                ? try FileHandle.standardInput.readToEnd() ?? Data()
                : try Data(contentsOf: URL(literal: input))
        } catch {
            let name = input == "-" ? "The standard input" : input
            throw FileFault(name, cannotBe: .read, error)
        }
        return Self.lines(bytes)
    }

    /// Returns the lines of a text that are not blank, without the byte order mark that editors
    /// of Windows put before them.
    static func lines(_ bytes: Data) -> [String] {
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        let text = bytes.starts(with: mark) ? bytes.dropFirst(mark.count) : bytes
        return String(decoding: text, as: UTF8.self).split(whereSeparator: \.isNewline)
            .map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
    }

    /// Returns a download that has not been submitted.
    private func task(for url: String, in session: TransferSession) -> TransferTask {
        let checksums = checksum.map { text in
            let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
            return (parts[0], JSONValue.string(parts.count > 1 ? parts[1] : ""))
        }
        var request = TransferRequest(url: url)
        request.options["progress_interval"] = .integer(1)
        if !checksums.isEmpty {
            request.options["checksums"] = .object(Dictionary(checksums) { $1 })
        }
        let task = session.downloadTask(with: request)
        // A task without a client string cannot be taken over.
        task.taskDescription = url
        return task
    }

    /// Saves the results of tasks as these end, a few at once, until none is left.
    private static func take(
        _ tasks: [TransferTask],
        _ listener: TransferListener,
        _ reporter: ProgressReporter,
        listing: String,
        save: @escaping @Sendable (TransferTask) async throws -> Void
    ) async throws {
        var remaining = Set(tasks)
        guard !remaining.isEmpty else { return }
        try await withThrowingTaskGroup(of: Void.self) { group in
            var running = 0
            for try await task in listener.ended where remaining.remove(task) != nil {
                if running == saversMax {
                    try await group.next()
                    running -= 1
                }
                running += 1
                group.addTask {
                    let outcome = try await Self.outcome(of: task, reporter, listing, save)
                    let id = task.taskIdentifier ?? ""
                    reporter.update { progress, _ in progress.end(id, outcome) }
                }
                if remaining.isEmpty { break }
            }
            try await group.waitForAll()
        }
    }

    private static func outcome(
        of task: TransferTask,
        _ reporter: ProgressReporter,
        _ listing: String,
        _ save: (TransferTask) async throws -> Void
    ) async throws -> TransferEvent.TaskChange {
        do {
            try await save(task)
            return .completed
        } catch let error as TransferError {
            if Task.isCancelled { throw error }
            if error.exitCode == ExitCode(2) { reporter.countRefusal() }
            reporter.noteFailure("\(task.originalRequest.url): \(error)", listing: listing)
            return .failed
        }
    }

    private static func tell(
        _ task: TransferTask,
        _ file: URL,
        _ reporter: ProgressReporter,
        isOneOf count: Int,
        json: Bool
    ) throws {
        let url = task.originalRequest.url
        if json { return try Output.json(["url": url, "path": file.path]) }
        let line = "\(TerminalText.safe(url)) -> \(TerminalText.safe(file.path))"
        guard reporter.isLive, Output.isTerminal else { return try Output.line(line) }
        if count <= ProgressReporter.linesMax { reporter.note(line) }
    }

    private static func cancel(_ tasks: [TransferTask], at service: TransferService) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, id) in tasks.compactMap(\.taskIdentifier).enumerated() {
                if index >= saversMax { try await group.next() }
                group.addTask {
                    do throws(TransferError) {
                        _ = try await service.control("cancel", task: id)
                    } catch  where error.problem?.code == .unknownTask {
                        // Its result has been saved, and the task removed.
                    }
                }
            }
            try await group.waitForAll()
        }
    }
}
