import Foundation
import Glibc

/// The single directory of this test process.
///
/// It is removed when the process exits, or by the next process when this one was killed.
enum RunDirectory {
    private static let prefix = "transferd-tests-"

    /// The path below /tmp, which the accounts of clusters and poolers can reach.
    static let path: String = {
        let path = "/tmp/\(prefix)\(getpid())"
        for name in (try? FileManager.default.contentsOfDirectory(atPath: "/tmp")) ?? [] {
            guard let owner = owner(of: name) else { continue }
            // A directory with our own number is from an earlier process of that number.
            if owner == getpid() || kill(owner, 0) != 0 && errno == ESRCH { remove("/tmp/\(name)") }
        }
        // Registered first, so that a partly made directory is removed too.
        atexit { RunDirectory.remove(RunDirectory.path) }
        mkdir(path, 0o755)
        return path
    }()

    private static func owner(of name: String) -> pid_t? {
        name.hasPrefix(prefix) ? pid_t(name.dropFirst(prefix.count)) : nil
    }

    /// Removes the directory of a run, including the servers and file systems left in it.
    private static func remove(_ directory: String) {
        let files = FileManager.default
        let names = (try? files.contentsOfDirectory(atPath: directory)) ?? []
        let folders = names.map { "\(directory)/\($0)" }
        for folder in [directory] + folders + folders.map({ "\($0)/data" }) {
            stopServer("\(folder)/postgres")
        }
        for folder in folders { umount2(folder, Int32(MNT_DETACH)) }
        // Servers that have just been told to end remove files of their own meanwhile.
        for _ in 0..<100 {
            try? files.removeItem(atPath: directory)
            guard access(directory, F_OK) == 0 else { return }
            usleep(10_000)
        }
    }

    /// Stops a server without a checkpoint, because nobody will read its files again.
    private static func stopServer(_ data: String) {
        let text = (try? String(contentsOfFile: "\(data)/postmaster.pid", encoding: .utf8)) ?? ""
        guard let server = text.split(separator: "\n").first.flatMap({ pid_t($0) }),
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(server)/cwd"))
                == data
        else { return }
        kill(server, SIGQUIT)
        // It is no child of this process, so nothing signals its end.
        for _ in 0..<2_000 where kill(server, 0) == 0 { usleep(1_000) }
    }
}
