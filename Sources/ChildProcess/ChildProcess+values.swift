import Glibc

extension ChildProcess {
    /// The end of a process.
    package enum Exit: Sendable, Equatable, CustomStringConvertible {
        /// The process ended by itself.
        case status(Int32)
        /// A signal ended the process.
        case signal(Int32)
        /// The system has not kept the status, as in a program that ignores SIGCHLD.
        case unknown

        /// Reads the status that wait(2) returns for a process that has ended.
        init(waitStatus: Int32) {
            let signal = waitStatus & 0x7F
            self = signal == 0 ? .status(waitStatus >> 8 & 0xFF) : .signal(signal)
        }

        /// The exit status as in a shell: 128 plus the number of the signal after one; -1 if it is
        /// unknown.
        package var shellStatus: Int32 {
            switch self {
            case .status(let status): status
            case .signal(let signal): 128 + signal
            case .unknown: -1
            }
        }

        package var description: String {
            switch self {
            case .status(let status): "exit status \(status)"
            case .signal(let signal): "ended by signal \(signal)"
            case .unknown: "ended with an unknown status"
            }
        }
    }

    /// The destination of what a process writes.
    package enum Output: Sendable, Equatable {
        /// `/dev/null`.
        case discarded
        /// ``ChildProcess/output``; for standard output only.
        case piped
        /// The file at this path, which loses its content first.
        case overwriting(String)
        /// The end of the file at this path.
        case appending(String)
        /// An open descriptor of this process.
        case descriptor(Int32)
    }

    /// A refusal of the system to start a program.
    package struct StartError: Error, CustomStringConvertible {
        /// The program that was to start.
        package let program: String
        /// The error number.
        package let code: Int32

        package var description: String { "\(program): \(String(cString: strerror(code)))" }
    }
}
