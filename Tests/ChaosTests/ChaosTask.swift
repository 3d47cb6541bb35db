/// A task as a client of the campaign requests it.
struct ChaosTask: Hashable, Sendable {
    enum Kind: String, Sendable {
        case download
        case put
        case post
    }

    /// The behaviour of its origin.
    enum Origin: String, CaseIterable, Sendable {
        /// Answers at once.
        case whole
        /// Holds back half of the bytes, or the answer to an upload, until the step is over.
        case late
        /// Answers 503 at first.
        case busy
        /// Answers 404.
        case missing
    }

    let kind: Kind
    let origin: Origin
    /// The path at the origin, unique so that a request identifies its task.
    let path: String
    /// The destination in the container; two rivals have the same.
    let destination: String?
    let bytes: Int

    /// The state in which the task ends when nobody cancels it and no fault spoils it; nil when
    /// several are possible.
    var end: String? {
        if origin == .missing { return "failed" }
        return isRival || kind == .post ? nil : "completed"
    }

    /// Whether another task wants the same destination, which only one can have.
    var isRival: Bool { destination?.hasSuffix(Self.rivalSuffix) ?? false }

    static let rivalSuffix = ".rivals"

    /// Returns the JSON of a submission.
    func json(at base: String) -> String {
        var fields = [
            #""url":"\#(base)\#(path)""#,
            #""retry":{"attempts_max":50,"delay_base":0.1,"delay_max":1}"#,
            #""client_persisted_string":"\#(path)""#,
        ]
        switch kind {
        case .download: break
        case .put: fields += [#""kind":"upload","method":"PUT""#, upload]
        case .post: fields += [#""kind":"upload","method":"POST""#, upload]
        }
        if let destination {
            fields.append(#""destination":{"path":"\#(destination)","overwrite":false}"#)
        }
        return "{\(fields.joined(separator: ","))}"
    }

    /// The constant bytes of an upload, which the origin compares.
    static let uploaded = "Zm9ydHktdHdv"

    private var upload: String { #""upload":{"body":{"base64":"\#(Self.uploaded)"}}"# }
}
