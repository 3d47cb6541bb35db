import Foundation

/// The places of a task's bytes, relative to the container directory of its tenant.
package enum ResultLocation {
    /// The container's folder that clients cannot name as a destination.
    package static let reservedFolder = ".transferd"
    /// The folder of results without a destination.
    package static let folder = "\(reservedFolder)/results"

    /// Returns the path of a completed download's result: its destination or else the part file of
    /// `part`; nil without either, which no completed download is.
    package static func path(
        of task: TaskID,
        destination: Destination?,
        part: Fence?
    ) -> String? {
        destination?.path ?? part.map { partPath(of: task, destination: nil, fence: $0) }
    }

    /// Returns the path of one attempt's part file.
    ///
    /// With a destination it is beside that, so that a rename suffices. Without one it is a place
    /// where the file can stay, because only the outcome tells that it is the result.
    package static func partPath(of task: TaskID, destination: Destination?, fence: Fence) -> String
    {
        if let destination { return "\(destination.path).\(fence).part" }
        // The last digits of the identifier are random: 256 folders of equal size, because creating
        // files in a single one would be measurably slower.
        let name = task.description
        return "\(folder)/\(name.suffix(2))/\(name).\(fence)"
    }

    /// Returns the fence in the name of a part file with a destination; nil for any other name.
    ///
    /// Clients cannot name such a destination.
    package static func fence(ofPart path: some StringProtocol) -> Fence? {
        let bytes = Array(path.utf8.suffix(partSuffixBytes))
        guard bytes.count == partSuffixBytes, bytes[0] == UInt8(ascii: "."),
            bytes.suffix(5).elementsEqual(".part".utf8)
        else { return nil }
        return Fence(digits: bytes[1..<17])
    }

    /// Returns the task and the fence in the path of a part file without a destination; nil for any
    /// other path.
    package static func attempt(
        ofPart path: some StringProtocol
    ) -> (task: TaskID, fence: Fence)? {
        guard path.hasPrefix("\(folder)/"),
            let name = path.utf8.split(separator: UInt8(ascii: "/")).last,
            case let parts = name.split(
                separator: UInt8(ascii: "."),
                omittingEmptySubsequences: false
            ),
            parts.count == 2,
            let task = UUID(uuidString: String(decoding: parts[0], as: UTF8.self)),
            let fence = Fence(digits: parts[1])
        else { return nil }
        return (TaskID(task), fence)
    }

    /// The length of a dot, sixteen digits and `.part`.
    private static let partSuffixBytes = 22
}

extension ResultLocation {
    /// The folder of the bodies that clients bring for their uploads.
    package static let bodyFolder = "\(reservedFolder)/bodies"

    /// Returns the path of the body that a client brings for a task.
    package static func bodyPath(of task: TaskID) -> String {
        let name = task.description
        return "\(bodyFolder)/\(name.suffix(2))/\(name)"
    }
}

extension ResultLocation {
    /// The folder of the packs: files in which small results lie together.
    package static let packFolder = "\(reservedFolder)/packs"
    /// The number of consecutive fences whose results may share a pack.
    package static let packFences = 1024

    /// Returns the path of the pack that may hold the result of an attempt.
    ///
    /// Its name is the first fence that it is for.
    package static func packPath(of fence: Fence) -> String {
        "\(packFolder)/\(fence.firstInPack)"
    }

    /// Returns the first fence that a pack is for; nil for a path that is not a pack's.
    package static func firstFence(ofPack path: some StringProtocol) -> Fence? {
        guard path.hasPrefix("\(packFolder)/"),
            let fence = Fence(digits: path.utf8.dropFirst(packFolder.utf8.count + 1)),
            fence == fence.firstInPack
        else { return nil }
        return fence
    }
}

extension Fence {
    /// The first of the fences whose results may lie in the same pack.
    package var firstInPack: Fence {
        Fence(rawValue: rawValue - Int64(indexInPack))
    }

    /// The place among the fences whose results may lie in the same pack.
    package var indexInPack: Int {
        Int(rawValue & Int64(ResultLocation.packFences - 1))
    }

    /// Reads the sixteen digits of a fence's description; nil for anything else.
    fileprivate init?(digits: some Collection<UInt8>) {
        let isHexadecimal = digits.allSatisfy {
            (0x30...0x39).contains($0) || (0x61...0x66).contains($0)
        }
        guard digits.count == 16, isHexadecimal,
            let value = UInt64(String(decoding: digits, as: UTF8.self), radix: 16)
        else { return nil }
        self.init(rawValue: Int64(bitPattern: value))
    }
}
