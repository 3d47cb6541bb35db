import CLinux
import Foundation
import TransferModel

/// What the table of a pack says about one result.
struct PackEntry: Equatable, Sendable {
    /// The size of a stored entry, in bytes.
    static let bytes = 32

    let task: TaskID
    /// Where the result begins in the pack.
    let offset: Int64
    /// The length of the result in bytes; never 0.
    let length: Int
    /// The CRC-32C of the result.
    ///
    /// After a power cut the table may be older or younger than the bytes, and after a removal
    /// there may be zeros in their place.
    let checksum: UInt32

    init(task: TaskID, offset: Int64, result: UnsafeRawBufferPointer) {
        self.task = task
        self.offset = offset
        length = result.count
        checksum = clinux_crc32c(0, result.baseAddress, result.count)
    }

    /// Reads a stored entry; nil where there is none, or none that was written here.
    init?(_ stored: UnsafeRawBufferPointer) {
        func number<Number: FixedWidthInteger>(at place: Int, _: Number.Type) -> Number {
            Number(littleEndian: stored.loadUnaligned(fromByteOffset: place, as: Number.self))
        }
        task = TaskID(UUID(uuid: stored.loadUnaligned(as: uuid_t.self)))
        offset = number(at: 16, Int64.self)
        length = Int(number(at: 24, UInt32.self))
        // What is given back with a wrong place would be others'.
        guard (1...Packs.resultBytesMax).contains(length), PackFile.mayBegin(at: offset) else {
            return nil
        }
        checksum = number(at: 28, UInt32.self)
    }

    /// The entry as it is stored: the task's identifier, and then three numbers, lowest byte first.
    var stored: [UInt8] {
        var stored: [UInt8] = []
        stored.reserveCapacity(Self.bytes)
        withUnsafeBytes(of: task.uuid.uuid) { stored += $0 }
        withUnsafeBytes(of: offset.littleEndian) { stored += $0 }
        withUnsafeBytes(of: UInt32(length).littleEndian) { stored += $0 }
        withUnsafeBytes(of: checksum.littleEndian) { stored += $0 }
        return stored
    }
}
