import Foundation
import NIOPosix
import TransferWire

/// Sends the bytes of an upload to the service, and continues where a broken request ended.
///
/// The file is opened once, so that no request brings bytes of another one. If it is written to
/// meanwhile, the upload fails.
struct BodySender: Sendable {
    /// The longest time of one request, which its transport ends earlier when nothing moves.
    private static let timeout: Duration = .seconds(24 * 3600)

    let service: TransferService
    let taskID: String
    /// The number of bytes of the file.
    var size: Int64 { file.size }
    private let file: BodyFile

    /// Opens the file.
    ///
    /// - Throws: ``TransferError`` with the code `file_failure` for anything but a regular file.
    init(service: TransferService, taskID: String, file: URL) async throws(TransferError) {
        self.service = service
        self.taskID = taskID
        do {
            self.file = try await NIOThreadPool.singleton.runIfActive { try BodyFile(file) }
        } catch {
            throw TransferError(reading: error)
        }
    }

    /// Sends what the service does not have yet.
    ///
    /// - Returns: the task once all bytes have arrived.
    /// - Throws: ``TransferError`` when several requests in a row brought nothing, and with the
    ///   code `file_failure` when the file was written to meanwhile.
    func send() async throws(TransferError) -> TaskDocument {
        var offset: Int64 = 0
        var failures = 0
        var isRepeated = false
        while true {
            do throws(TransferError) {
                return try await send(from: offset)
            } catch  where isRepeated && error.problem?.code == .bodyNotExpected {
                // An earlier request has brought all of its bytes.
                return try await service.task(taskID)
            } catch {
                failures += 1
                let delay = service.retryPolicy.delay(
                    after: error,
                    attempts: failures,
                    isRepeatable: true,
                    fraction: .random(in: 0...1)
                )
                guard let delay else { throw error }
                try await TransferService.pause(delay)
            }
            isRepeated = true
            var arrived: Int64
            do throws(TransferError) {
                arrived = try await arrivedBytes()
            } catch  where error.problem?.code == .bodyNotExpected {
                return try await service.task(taskID)
            }
            // More bytes than the file has are those of another one.
            if arrived > size { arrived = 0 }
            if arrived > offset { failures = 0 }
            offset = arrived
        }
    }

    private func send(from offset: Int64) async throws(TransferError) -> TaskDocument {
        var request = ServiceRequest("PUT", "\(APIPath.task(taskID))/body")
        request.timeout = Self.timeout
        // A repetition continues behind what has arrived, which the caller asks for.
        request.isRepeatable = false
        if offset < size {
            request.body = .file(FileSlice(file, from: offset))
            // A transport may not know the length beforehand; with this field the service does, and
            // refuses a body that is shorter.
            request = request.adding("Content-Range", "bytes \(offset)-\(size - 1)/\(size)")
        } else if size > 0 {
            // All bytes have arrived, but what follows them has failed.
            request = request.adding("Content-Range", "bytes */\(size)")
        }
        let response = try await service.open(request)
        return try await service.document(of: response)
    }

    private func arrivedBytes() async throws(TransferError) -> Int64 {
        let response = try await service.call(
            ServiceRequest("GET", "\(APIPath.task(taskID))/body")
        )
        guard let text = response.header("Upload-Offset"), let offset = Int64(text), offset >= 0
        else { throw TransferError(.unexpectedResponse, "The response has no Upload-Offset.") }
        return offset
    }
}
