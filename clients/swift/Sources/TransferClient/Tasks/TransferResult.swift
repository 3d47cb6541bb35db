public import Foundation
public import TransferWire

/// The result of a completed task: the file of a download, or the response to an upload.
public struct TransferResult: Sendable {
    /// The task.
    public let task: TransferTask
    /// The origin's response; nil when the task is kept no longer.
    public let response: TaskDocument.Response?
    private let taskID: String

    init(task: TransferTask, id: String, response: TaskDocument.Response?) {
        self.task = task
        self.response = response
        taskID = id
    }

    /// The bytes as they are read from the service, which resumes when a connection breaks off.
    public var bytes: TransferBytes {
        TransferBytes(service: task.session.service, taskID: taskID, task: task)
    }

    /// Returns the bytes in memory, and throws when there are more than `bytesMax`.
    public func data(upTo bytesMax: Int) async throws(TransferError) -> Data {
        var data = Data()
        for try await part in bytes {
            data.append(contentsOf: part)
            guard data.count <= bytesMax else {
                throw TransferError(.unexpectedResponse, "The result is too long.")
            }
        }
        return data
    }

    /// Writes the bytes to a file.
    ///
    /// They get its name at the end: no reader sees a part of them, and after an error an old file
    /// is as it was, unless only its directory could not be flushed. On Linux they have no name
    /// until then, and a process that is killed leaves nothing; elsewhere, and on a file system
    /// that cannot do so, it leaves a file beside it whose name begins with a dot. Without hard
    /// links, as on FAT, a file that must not replace another is empty for a moment.
    ///
    /// - Parameters:
    ///   - file: a file in a directory that exists.
    ///   - overwrite: whether a file that is there is replaced.
    ///   - wrote: called with the number of bytes written so far, after each part.
    /// - Throws: ``TransferError``, with the code `file_exists` when one is there that must stay,
    ///   and `file_failure` when the file cannot be written.
    public func moveFile(
        to file: URL,
        overwrite: Bool = true,
        wrote: (@Sendable (Int64) -> Void)? = nil
    ) async throws(TransferError) {
        let writer: FileWriter
        do {
            writer = try await FileWriter(for: file)
        } catch {
            throw TransferError(.fileFailure, "The file cannot be created: \(error)")
        }
        do {
            var count: Int64 = 0
            for try await part in bytes {
                try await writer.append(part)
                count += Int64(part.count)
                wrote?(count)
            }
            try await writer.publish(overwrite: overwrite)
        } catch {
            await writer.discard()
            if let error = error as? TransferError { throw error }
            if !overwrite, (error as? FileWriter.Failure)?.isOfExistingFile == true {
                throw TransferError(.fileExists, "There is a file of that name.")
            }
            throw TransferError(.fileFailure, "The file cannot be written: \(error)")
        }
    }
}
