import Foundation
import TransferModel
import TransferWire

extension TaskRequest {
    /// Returns what the task asks of its origin with the type of its body, if that is known, and
    /// adds what is wrong to `errors`.
    func transferRequest(
        with options: TransferOptions,
        into errors: inout [FieldError]
    ) -> (request: TransferRequest, contentType: String?) {
        func refuse(_ field: String, _ detail: String, _ code: FieldError.Code = .invalidValue) {
            errors.append(FieldError(pointer: "/\(field)", code, detail))
        }
        // Below, only a method that is allowed is compared: others may take long.
        let fault = self.method.flatMap(Self.fault(ofMethod:))
        let method = fault == nil ? self.method : nil
        if let fault { refuse("method", fault) }
        guard let kind = TransferRequest.Kind(word: kind ?? "download") else {
            refuse("kind", "Must be `download`, `upload` or `data`.")
            return (TransferRequest(), nil)
        }
        func check(_ field: String, _ isThere: Bool, isFor owner: TransferRequest.Kind) {
            guard isThere, owner != kind else { return }
            refuse(field, "Is for a task of kind `\(owner.rawValue)`.")
        }
        check("destination", destination != nil, isFor: .download)
        check("expected_size", options.expectedSize != nil, isFor: .download)
        check("checksums", options.checksums != nil, isFor: .download)
        check("mirrors", options.mirrors != nil, isFor: .download)
        check("resume_data", resumeData != nil, isFor: .download)
        check("upload", upload != nil, isFor: .upload)
        check("body", body != nil && kind == .upload, isFor: .data)
        var source: TransferRequest.UploadSource?
        var contentType: String?
        func data(_ content: BodyRequest.Content) -> TransferRequest.UploadSource {
            contentType = content.type
            return .data(content.bytes)
        }
        func copy(_ request: CopyRequest) -> TransferRequest.UploadSource? {
            request.source(at: "/upload/copy", into: &errors).map { .copy($0) }
        }
        switch kind {
        case .upload:
            if method == "HEAD" { refuse("method", "Must not be HEAD, which has no body.") }
            if let upload {
                source = upload.source(data, copy) { refuse("upload\($0)", $1) }
            } else {
                refuse("upload", "Says where the bytes come from.", .required)
            }
        case .download, .data:
            source = body?.content { refuse("body\($0)", $1) }.map(data)
            if source != nil, method == "HEAD" { refuse("body", "Must not go with HEAD.") }
            if kind == .download, options.checksums != nil, method == "HEAD" {
                refuse("checksums", "Must not go with HEAD, which brings no bytes to check.")
            }
            if source != nil, resumeData != nil {
                refuse("resume_data", "Must not go with a body; its response is not resumed.")
            }
        }
        // As of a form in a browser.
        let methodDefault = kind != .upload && source != nil ? "POST" : nil
        let request = TransferRequest(kind: kind, method: method ?? methodDefault, upload: source)
        if kind == .download, options.mirrors != nil, source != nil || request.method != "GET" {
            refuse("mirrors", "Must go with GET and without a body.")
        }
        return (request, contentType)
    }

    /// Returns why a client may not use `method` (RFC 9110 §9.1); nil if it may.
    ///
    /// CONNECT and TRACE are not for resources. `get` is another method than GET, which few origins
    /// know, and none that is safe to repeat.
    private static func fault(ofMethod method: String) -> String? {
        let isToken =
            (1...TransferRequest.methodBytesMax).contains(method.utf8.count)
            && method.utf8.allSatisfy(HTTPHeader.isTokenByte)
        let common = isToken ? method.uppercased() : ""
        guard isToken, !["CONNECT", "TRACE"].contains(common) else {
            return "Must be a method such as GET or POST, but not CONNECT or TRACE."
        }
        guard common != method, Self.commonMethods.contains(common) else { return nil }
        return "Must be `\(common)`: methods are case-sensitive."
    }

    /// The methods of RFC 9110 §9.3 and RFC 5789 that are allowed.
    private static let commonMethods = [
        "GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH",
    ]
}

extension UploadRequest {
    /// Returns the one source that is named, which is `data` of a body or `copied` of a copy, and
    /// passes what is wrong to `refuse` with its place.
    fileprivate func source(
        _ data: (BodyRequest.Content) -> TransferRequest.UploadSource,
        _ copied: (CopyRequest) -> TransferRequest.UploadSource?,
        _ refuse: (_ place: String, _ detail: String) -> Void
    ) -> TransferRequest.UploadSource? {
        switch (path, body, staged ?? false, copy) {
        case (let path?, nil, false, nil):
            guard Destination(path: path, overwrite: false) != nil else {
                refuse("/path", Destination.pathRule)
                return nil
            }
            return .file(path: path)
        case (nil, let body?, false, nil):
            return body.content { refuse("/body\($0)", $1) }.map(data)
        case (nil, nil, true, nil): return .staged
        case (nil, nil, false, let copy?): return copied(copy)
        default:
            refuse("", "Must have exactly one of `path`, `body`, `staged` and `copy`.")
            return nil
        }
    }
}
