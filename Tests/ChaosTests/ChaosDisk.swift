import Foundation
import Glibc

/// A small file system for the containers, which can be full or read-only; only root can make one.
final class ChaosDisk: Sendable {
    private let path: String
    private var ballast: String { "\(path)/ballast" }

    private static let options = "size=64m"
    private static let pieceBytes = 1 << 20

    /// Mounts it at `path`, which is made; nil without the right to mount.
    init?(at path: String) throws {
        guard geteuid() == 0 else { return nil }
        try FileManager.default.createDirectory(
            atPath: path,
            withIntermediateDirectories: true
        )
        guard mount("tmpfs", path, "tmpfs", 0, Self.options) == 0 else { return nil }
        self.path = path
    }

    deinit { umount2(path, Int32(MNT_DETACH)) }

    /// Fills all free space.
    func fill() {
        let file = open(ballast, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard file >= 0 else { return }
        defer { close(file) }
        let piece = [UInt8](repeating: 0, count: Self.pieceBytes)
        while write(file, piece, piece.count) > 0 {}
    }

    /// Makes it read-only.
    ///
    /// - Returns: false when a file is open for writing, because the kernel then refuses.
    func forbid() -> Bool { remount(UInt(MS_RDONLY)) }

    /// Frees the space and makes it writable again.
    func mend() {
        _ = remount(0)
        unlink(ballast)
    }

    private func remount(_ flags: UInt) -> Bool {
        mount("tmpfs", path, "tmpfs", UInt(MS_REMOUNT) | flags, Self.options) == 0
    }
}
