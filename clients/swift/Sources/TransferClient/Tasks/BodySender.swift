import Foundation
import NIOPosix
import TransferWire

/// Sends the bytes of an upload to the service, and continues where a broken request ended.
struct BodySender: Sendable {
    /// The longest time of one request, which is bounded by silence otherwise.
    private static let timeout: Duration = .seconds(24 * 3600)

    let service: TransferService
    let taskID: String
    let file: URL

    /// Sends what the service does not have yet, of `size` bytes.
    ///
    /// - Returns: the task once all bytes have arrived.
    /// - Throws: ``TransferError`` when several requests in a row brought nothing.
    func send(_ size: Int64) async throws(TransferError) -> TaskDocument {
        var offset: Int64 = 0
        var failures = 0
        var isRepeated = false
        while true {
            do throws(TransferError) {
                return try await send(from: offset, of: size)
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

    /// Returns the number of bytes of the file.
    ///
    /// - Throws: ``TransferError`` with the code `file_failure` for anything but a regular file.
    func size() async throws(TransferError) -> Int64 {
        do {
            return try await NIOThreadPool.singleton.runIfActive { [file] in
                try BodyFile(file).size
            }
        } catch {
            throw TransferError(reading: error)
        }
    }

    private func send(from offset: Int64, of size: Int64) async throws(TransferError)
        -> TaskDocument
    {
        var request = ServiceRequest("PUT", "\(APIPath.task(taskID))/body")
        request.timeout = Self.timeout
        // A repetition continues behind what has arrived, which the caller asks for.
        request.isRepeatable = false
        if offset < size {
            request.body = .file(FileSlice(file: file, offset: offset, count: size - offset))
            // A transport may not know the length beforehand; with this field the service does, and
            // refuses a file that has become shorter.
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
