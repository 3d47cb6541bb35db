import Foundation
import Synchronization
import TransferClient
import TransferWire

/// Moves the results of downloads into a folder, each under a name of its own.
final class ResultSaver: Sendable {
    private let folder: URL
    private let reporter: ProgressReporter
    private let names = Mutex(FileNames())
    /// The tasks that could not be removed, and the files with their results.
    private let unremoved = Mutex<[(task: TransferTask, file: URL)]>([])

    init(folder: URL, reporter: ProgressReporter) {
        self.folder = folder
        self.reporter = reporter
    }

    /// Moves the result of an ended task into the folder, and removes the task, if that succeeds.
    ///
    /// - Returns: the file.
    func save(_ task: TransferTask) async throws(TransferError) -> URL {
        let result = try await task.result()
        let wanted =
            result.response?.suggestedFilename ?? FileNames.name(of: task.originalRequest.url)
        var file: URL
        while true {
            file = claim(wanted)
            do throws(TransferError) {
                try await result.moveFile(to: file, overwrite: false) { self.report(task, $0) }
                break
            } catch  where error.code == .fileExists {
                // Somebody has made it since the name was chosen.
                continue
            }
        }
        do throws(TransferError) {
            try await task.remove()
        } catch {
            // The file is there, whatever becomes of its task.
            unremoved.withLock { $0.append((task, file)) }
        }
        return file
    }

    /// Removes the tasks that could not be removed, and tells of those that still cannot.
    ///
    /// The next command would bring their files again, under other names.
    func removeRest() async {
        let rest = unremoved.withLock { rest in
            defer { rest = [] }
            return rest
        }
        for (task, file) in rest {
            do throws(TransferError) {
                try await task.remove()
            } catch {
                reporter.note(
                    "\(file.path) is there, but its task could not be removed, and the next "
                        + "command brings it again: \(error)"
                )
            }
        }
    }

    private func claim(_ wanted: String) -> URL {
        let name = names.withLock { names in
            names.claim(wanted) {
                FileManager.default.fileExists(atPath: folder.appending(path: $0).path)
            }
        }
        return folder.appending(path: name)
    }

    private func report(_ task: TransferTask, _ bytes: Int64) {
        guard let id = task.taskIdentifier else { return }
        reporter.update {
            $0.report(
                id,
                name: FileNames.name(of: task.originalRequest.url),
                state: "saving",
                bytes: bytes,
                of: task.countOfBytesReceived,
                at: $1
            )
        }
    }
}
