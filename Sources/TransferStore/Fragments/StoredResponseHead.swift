import TransferModel

/// The head of a completed task's response as text: a line for each field, and before them, under
/// names that no field can have, a line for each other thing known of it.
///
/// SQL never looks into it, so that a new member is no change of the schema.
enum StoredResponseHead {
    private static let lengthVerified = ":length-verified"
    private static let truncated = ":truncated"
    private static let fileName = ":file-name"
    private static let finalURL = ":final-url"
    private static let bytesToSend = ":bytes-to-send"
    private static let checksum = ":checksum"
    private static let file = ":file"

    static func text(of result: TransferResult) -> String {
        // Bytes, for the reason that measurements are.
        var text: [UInt8] = []
        text.reserveCapacity(256)
        func add(_ name: String, _ value: String) {
            text.append(contentsOf: name.utf8)
            text.append(UInt8(ascii: " "))
            text.append(contentsOf: value.utf8)
            text.append(UInt8(ascii: "\n"))
        }
        if result.isLengthVerified { add(lengthVerified, "1") }
        if result.isTruncated { add(truncated, "1") }
        if let name = result.suggestedFileName { add(fileName, name) }
        if let url = result.finalURL { add(finalURL, url) }
        if let count = result.bytesToSend { add(bytesToSend, "\(count)") }
        for sum in result.checksums { add(checksum, "\(sum.algorithm.rawValue) \(sum)") }
        if let file = result.file { add(Self.file, "\(file.inode) \(file.bornAtNanoseconds)") }
        for field in result.fields.fields { add(field.name, field.value) }
        return String(decoding: text, as: UTF8.self)
    }

    static func result(
        _ text: String,
        httpStatus: Int,
        bytesReceived: Int64
    ) throws(StoreError) -> TransferResult {
        var isLengthVerified = false
        var isTruncated = false
        var suggestedFileName: String?
        var url: String?
        var countToSend: Int64?
        var checksums: [Checksum] = []
        var identity: FileIdentity?
        var fields: [HTTPHeader] = []
        for line in text.utf8.split(separator: UInt8(ascii: "\n")) {
            let words = line.split(
                separator: UInt8(ascii: " "),
                maxSplits: 1,
                omittingEmptySubsequences: false
            )
            guard words.count == 2, let name = String(words[0]), let value = String(words[1]) else {
                throw StoreError(decoding: "a stored response has a line without a value")
            }
            switch name {
            case lengthVerified: isLengthVerified = true
            case truncated: isTruncated = true
            case fileName: suggestedFileName = value
            case finalURL: url = value
            case bytesToSend: countToSend = try Self.count(value)
            case checksum: checksums.append(try Self.checksum(value))
            case file: identity = try Self.identity(value)
            default: fields.append(HTTPHeader(name: name, value: value))
            }
        }
        return TransferResult(
            httpStatus: httpStatus,
            bytesReceived: bytesReceived,
            fields: KeptFields(stored: fields),
            isLengthVerified: isLengthVerified,
            isTruncated: isTruncated,
            suggestedFileName: suggestedFileName,
            finalURL: url,
            bytesToSend: countToSend,
            checksums: checksums,
            file: identity
        )
    }

    private static func count(_ value: String) throws(StoreError) -> Int64 {
        guard let count = Int64(value) else {
            throw StoreError(decoding: "a stored response has no count in its line")
        }
        return count
    }

    private static func identity(_ value: String) throws(StoreError) -> FileIdentity {
        let words = value.split(separator: " ")
        guard words.count == 2, let inode = Int64(words[0]), let bornAt = Int64(words[1]) else {
            throw StoreError(decoding: "a stored response has no file in its line")
        }
        return FileIdentity(inode: inode, bornAtNanoseconds: bornAt)
    }

    private static func checksum(_ value: String) throws(StoreError) -> Checksum {
        let words = value.split(separator: " ").map(String.init)
        guard words.count == 2, let algorithm = ChecksumAlgorithm(rawValue: words[0]),
            let checksum = Checksum(algorithm, hex: words[1])
        else { throw StoreError(decoding: "a stored response has no checksum in its line") }
        return checksum
    }
}
