import Foundation
import Glibc

/// What the operating system tells of this process.
struct ProcessFigures {
    /// The resident memory in bytes; nil where /proc does not tell it.
    let residentMemory: Int?
    /// The open descriptors; nil where /proc does not tell them.
    let descriptorCount: Int?
    /// The processor time of all threads, in seconds.
    let processorSeconds: Double

    init() {
        let fields = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?
            .split(separator: " ")
        residentMemory = fields.flatMap { $0.count > 1 ? Int($0[1]) : nil }
            .map { $0 * sysconf(Int32(_SC_PAGESIZE)) }
        descriptorCount = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
            .count
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        func seconds(_ time: timeval) -> Double {
            Double(time.tv_sec) + Double(time.tv_usec) / 1_000_000
        }
        processorSeconds = seconds(usage.ru_utime) + seconds(usage.ru_stime)
    }
}
