import ChildProcess
import Foundation
import Glibc
import Testing

/// A small ext4 file system in a file of its own, for as long as it is referred to; only root can
/// make one, where the kernel has loop devices.
package final class Ext4Disk: Sendable {
    /// The error thrown where there cannot be one.
    package struct Refused: Error, CustomStringConvertible {
        package let description: String
    }

    /// The folder at which it is mounted.
    package let path: String
    private let image: String
    private let folder: TestFolder

    /// Makes and mounts it.
    ///
    /// - Parameter size: its bytes, with its own tables.
    /// - Throws: ``Refused``, or the errors of the file system that is there.
    package convenience init(size: Int) async throws {
        try await self.init { image throws in
            try Data().write(to: URL(filePath: image))
            guard truncate(image, off_t(size)) == 0 else {
                throw Refused(description: "truncate: errno \(errno)")
            }
            // Nothing is set aside for root, which these tests may be.
            try await Self.run("mkfs.ext4", ["-q", "-m", "0", image])
        }
    }

    /// Makes one for a test, which is cancelled where there cannot be one.
    package static func forTest(size: Int) async throws -> Ext4Disk {
        do {
            return try await Ext4Disk(size: size)
        } catch let refusal as Refused {
            try Test.cancel("this system does not let root mount: \(refusal)")
        }
    }

    /// Mounts a copy with what another one would have after a crash of this machine.
    ///
    /// - Throws: ``Refused``, or the errors of the file system that is there.
    package convenience init(asLeftBy other: Ext4Disk) async throws {
        try await self.init { image throws in
            try FileManager.default.copyItem(atPath: other.image, toPath: image)
        }
    }

    private init(making image: (String) async throws -> Void) async throws {
        folder = try TestFolder("ext4")
        path = "\(folder.path)/mounted"
        self.image = "\(folder.path)/image"
        try FileManager.default.createDirectory(
            atPath: path,
            withIntermediateDirectories: false
        )
        try await image(self.image)
        try await Self.run("mount", ["-o", "loop", self.image, path])
    }

    deinit { umount2(path, Int32(MNT_DETACH)) }

    private static func run(_ program: String, _ arguments: [String]) async throws {
        let process: ChildProcess
        do {
            process = try ChildProcess(program, arguments)
        } catch {
            throw Refused(description: "\(program): \(error)")
        }
        let status = await process.status()
        guard status == 0 else {
            throw Refused(description: "\(program) has ended with status \(status)")
        }
    }
}
