import ArgumentParser
import Foundation
import TransferClient
import TransferWire

/// `transferctl put`: uploads a file to a URL.
struct Put: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Uploads a file to a URL, and prints the response.",
        discussion: """
            The file is sent to the service first; from then on the upload goes on when the \
            command is stopped. A suspended upload of the same file to the same URL, as a command \
            leaves it that is killed before, is cancelled: this one takes its place. It is found a \
            minute after that.
            """
    )

    /// The most bytes of a response that are printed.
    private static let responseBytesMax = 1 << 20

    @OptionGroup var options: ServiceOptions

    @Argument(help: "The file.", completion: .file())
    var file: String

    @Argument(help: "The URL.")
    var url: String

    @Option(help: "The name of the session.")
    var session = "transferctl-put"

    @Option(help: "The method of the request.")
    var method = "PUT"

    mutating func validate() throws { try SessionName.validate(session) }

    mutating func run() async throws {
        // Before anything is submitted: a task whose file is not there helps nobody.
        try FileFault.checkReading(file)
        let reporter = ProgressReporter()
        let service = try options.service()
        try await cancelRemains(at: service, reporter)
        let session = TransferSession(
            configuration: .command(session),
            service: service,
            delegate: TransferListener(reporter)
        )
        var request = TransferRequest(url: url)
        request.httpMethod = method
        request.options["progress_interval"] = .integer(1)
        let task = session.uploadTask(with: request, fromFile: URL(literal: file))
        task.taskDescription = file
        reporter.update { progress, time in
            progress.add(1)
            progress.report("", name: file, state: "sending", bytes: 0, of: nil, at: time)
        }
        let advice = options.command("attach", ShellWords.argument(self.session))
        try await Interruption.handling(reporter) {
            Self.isSent(task)
                ? "Attach again: \(advice)"
                : "But the file has not been sent: without a second Ctrl-C, too, it is cancelled."
        } detach: {
            // The session would wait for the file.
            if !Self.isSent(task) { try await task.cancel() }
            try await session.close()
        } cancel: {
            try await task.cancel()
            try await session.close()
        } _: {
            // Only now: an interruption says what becomes of what was submitted.
            task.resume()
            do {
                let body = try await reporter.whileShowing {
                    try await task.result().data(upTo: Self.responseBytesMax)
                }
                try Output.bytes(body)
                try await task.remove()
                try await session.close()
            } catch {
                // After an interruption, its own steps do this.
                if !Task.isCancelled { await Self.giveUp(task, reporter) }
                throw error
            }
        }
    }

    /// Cancels what commands that were killed have left of the same upload, and tells of other
    /// uploads whose files they may not have sent.
    private func cancelRemains(
        at service: TransferService,
        _ reporter: ProgressReporter
    ) async throws {
        // A session of its own: the tasks that it takes over are given back before the upload.
        let session = TransferSession(configuration: .command(session), service: service)
        let uploads = try await session.reconnect().compactMap { try? $0.get() }
            .filter { $0.kind == .upload && $0.serviceState == "suspended" }
        let remains = uploads.filter {
            $0.taskDescription == file && $0.originalRequest.url == url
        }
        for task in remains { try await task.cancel() }
        try await session.close()
        guard remains.count < uploads.count else { return }
        let list = options.command("tasks", ShellWords.argument(self.session))
        reporter.note("Other uploads are suspended; their commands may have been killed: \(list)")
    }

    /// Leaves the session, and no task that waits for its bytes.
    private static func giveUp(_ task: TransferTask, _ reporter: ProgressReporter) async {
        do {
            if !isSent(task) { try await task.cancel() }
            try await task.session.close()
        } catch {
            reporter.note("The task may wait for its bytes at the service: \(error)")
        }
    }

    /// Whether the service has the whole file; a task whose bytes have not come is suspended.
    private static func isSent(_ task: TransferTask) -> Bool {
        task.serviceState.map { $0 != "suspended" } ?? false
    }
}
