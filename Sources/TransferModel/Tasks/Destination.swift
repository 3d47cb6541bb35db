/// A file name in the tenant's container that a client chose for a result.
package struct Destination: Hashable, Sendable {
    /// The relative, `/`-separated path, without empty, `.` or `..` components.
    package let path: String
    /// Whether an existing file is replaced.
    package let overwrite: Bool

    /// The longest path, in UTF-8 bytes.
    package static let pathBytesMax = 1024
    /// The longest component, in UTF-8 bytes, which leaves room for the part file's suffix within
    /// the 255 bytes of a Linux file name.
    package static let componentBytesMax = 200

    /// The most components: the folders above a result stay when its download fails, and each
    /// takes a file's place on the disk.
    package static let componentsMax = 32

    /// The rule for ``path`` in words.
    package static let pathRule = """
        Must be a relative path beneath the container of at most \(pathBytesMax) bytes and \
        \(componentsMax) names; these have 1 to \(componentBytesMax) bytes, no control \
        characters, and are not `.`, `..` or those of the service's own files.
        """

    /// - Returns: nil when `path` could name anything but a file of clients beneath the container.
    package init?(path: String, overwrite: Bool) {
        let bytes = Array(path.utf8)
        guard !bytes.isEmpty, bytes.count <= Self.pathBytesMax else { return nil }
        // Compared as bytes: a combining mark after a slash would hide it from `Character`.
        let components = bytes.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard components.count <= Self.componentsMax else { return nil }
        for component in components {
            guard !component.isEmpty, component.count <= Self.componentBytesMax,
                !component.elementsEqual(".".utf8), !component.elementsEqual("..".utf8),
                component.allSatisfy({ $0 >= 0x20 && $0 != 0x7F })
            else { return nil }
        }
        let isReserved = components[0].elementsEqual(ResultLocation.reservedFolder.utf8)
        // Such a name belongs to a part file, which is removed when its attempt is gone.
        guard !isReserved, ResultLocation.fence(ofPart: path) == nil else { return nil }
        self.path = path
        self.overwrite = overwrite
    }

    /// Restores a destination from the database.
    package init(storedPath path: String, overwrite: Bool) {
        self.path = path
        self.overwrite = overwrite
    }
}
