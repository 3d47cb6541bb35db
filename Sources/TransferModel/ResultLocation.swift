/// Where the bytes of a task lie, relative to the container directory of its tenant.
package enum ResultLocation {
    /// The container's folder that clients cannot name as a destination.
    package static let reservedFolder = ".transferd"
    /// The folder of results without a destination.
    package static let folder = "\(reservedFolder)/results"

    /// The final path of a task's result.
    package static func path(of task: TaskID, destination: Destination?) -> String {
        if let destination { return destination.path }
        // The last digits of the identifier are random: 256 folders of equal size, where one
        // would be measurably slower to create files in.
        let name = task.description
        return "\(folder)/\(name.suffix(2))/\(name)"
    }

    /// The path of the part file of one attempt, beside the final path so that a rename suffices.
    package static func partPath(of task: TaskID, destination: Destination?, fence: Fence) -> String
    {
        "\(path(of: task, destination: destination)).\(fence).part"
    }

    /// The fence in the name of a part file, or nil for any other name.
    ///
    /// Clients cannot name a destination like that.
    package static func fence(ofPart path: some StringProtocol) -> Fence? {
        let bytes = Array(path.utf8.suffix(partSuffixBytes))
        guard bytes.count == partSuffixBytes, bytes[0] == UInt8(ascii: "."),
            bytes.suffix(5).elementsEqual(".part".utf8)
        else { return nil }
        let digits = bytes[1..<17]
        guard digits.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }),
            let value = UInt64(String(decoding: digits, as: UTF8.self), radix: 16)
        else { return nil }
        return Fence(rawValue: Int64(bitPattern: value))
    }

    /// A dot, sixteen digits and `.part`.
    private static let partSuffixBytes = 22
}

extension ResultLocation {
    /// The folder of bodies that clients bring for their uploads.
    package static let bodyFolder = "\(reservedFolder)/bodies"

    /// The path of the body that a client brings for a task.
    package static func bodyPath(of task: TaskID) -> String {
        let name = task.description
        return "\(bodyFolder)/\(name.suffix(2))/\(name)"
    }
}
