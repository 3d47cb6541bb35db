public import Foundation
import NIOPosix
public import TransferWire

/// The result of a completed task: the file of a download, or the response to an upload.
public struct TransferResult: Sendable {
    /// The task.
    public let task: TransferTask
    /// The origin's response; nil when the task is kept no longer.
    public let response: TaskDocument.Response?
    private let path: String

    init(task: TransferTask, id: String, response: TaskDocument.Response?) {
        self.task = task
        self.response = response
        path = "\(APIPath.task(id))/content"
    }

    /// The bytes as they are read from the service, which resumes when a connection breaks off.
    public var bytes: TransferBytes { TransferBytes(service: task.session.service, path: path) }

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

    /// Writes the bytes to a file, and replaces one that is there.
    ///
    /// They are written beside it and renamed at the end: no reader sees a part of them, and after
    /// an error the old file is as it was.
    ///
    /// - Parameter file: a file in a directory that exists.
    /// - Throws: ``TransferError``, with the code `file_failure` when the file cannot be written.
    public func moveFile(to file: URL) async throws(TransferError) {
        let writer: FileWriter
        do {
            writer = try await FileWriter(for: file)
        } catch {
            throw TransferError(.fileFailure, "The file cannot be created: \(error)")
        }
        do {
            for try await part in bytes { try await writer.write(part) }
            try await writer.publish()
        } catch {
            await writer.discard()
            if let error = error as? TransferError { throw error }
            throw TransferError(.fileFailure, "The file cannot be written: \(error)")
        }
    }
}
