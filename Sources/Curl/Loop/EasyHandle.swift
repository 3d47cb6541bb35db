import CCurl

/// Owns one libcurl easy handle; confined to the thread of its loop.
@safe final class EasyHandle {
    /// The handle, valid as long as this object.
    let raw: UnsafeMutableRawPointer
    /// The lists that libcurl refers to, without copying them, while a transfer runs; by option.
    private var lists: [CURLoption.RawValue: UnsafeMutablePointer<curl_slist>]

    /// Whether the handle has cookies, which curl_easy_reset(3) would leave to the next transfer.
    private(set) var hasCookies = false

    /// The buffer for libcurl's words about an error (CURLOPT_ERRORBUFFER(3)).
    private let words: UnsafeMutableBufferPointer<CChar>

    init() throws(CurlError) {
        guard let raw = unsafe curl_easy_init() else { throw CurlError(.outOfMemory) }
        unsafe self.raw = raw
        unsafe lists = [:]
        unsafe words = .allocate(capacity: Int(CURL_ERROR_SIZE))
        unsafe words.initialize(repeating: 0)
    }

    deinit {
        unsafe curl_easy_cleanup(raw)
        unsafe words.deallocate()
        freeLists()
    }

    /// Clears all options and lists, but keeps what makes a handle quick to use again.
    ///
    /// - Returns: whether it can be used again. A handle that never got as far as a connection, or
    ///   shared one with transfers that go on, still has its buffer, and libcurl 7.88 then refuses
    ///   `CURLOPT_BUFFERSIZE`.
    func reset() -> Bool {
        unsafe curl_easy_reset(raw)
        freeLists()
        return unsafe ccurl_set_long(raw, CURLOPT_BUFFERSIZE, Self.receiveBufferBytes) == CURLE_OK
    }

    private func freeLists() {
        while let entry = unsafe lists.popFirst() { unsafe curl_slist_free_all(entry.value) }
    }

    /// Lets libcurl say what went wrong, for ``errorText``.
    func keepErrorText() throws(CurlError) {
        unsafe words[0] = 0
        try check(unsafe ccurl_set_pointer(raw, CURLOPT_ERRORBUFFER, words.baseAddress))
    }

    /// Libcurl's words about the error of the last transfer; empty without one.
    var errorText: String {
        let bytes = unsafe words.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Makes libcurl use `addresses` for a name and a port.
    ///
    /// They hold for this transfer and those of the next minute.
    func set(addresses: [String], of name: String, port: UInt16) throws(CurlError) {
        let texts = addresses.map { $0.contains(":") ? "[\($0)]" : $0 }
        // The plus lets the entry expire (CURLOPT_RESOLVE(3)).
        try set(CURLOPT_RESOLVE, lines: ["+\(name):\(port):\(texts.joined(separator: ","))"])
    }

    /// Sends the cookies of `jar`, and keeps those that the response sets, for ``cookies``.
    func keep(_ jar: CookieJar) throws(CurlError) {
        hasCookies = true
        // No file has this name, which makes libcurl keep cookies (CURLOPT_COOKIEFILE(3)).
        try set(CURLOPT_COOKIEFILE, "")
        for line in jar.lines { try set(CURLOPT_COOKIELIST, line) }
    }

    /// The cookies that are kept; nil when none are.
    var cookies: CookieJar? {
        guard hasCookies else { return nil }
        var list: UnsafeMutablePointer<curl_slist>?
        unsafe ccurl_get_list(raw, CURLINFO_COOKIELIST, &list)
        defer { unsafe curl_slist_free_all(list) }
        var lines: [String] = []
        var next = unsafe list
        while let entry = unsafe next {
            lines.append(unsafe String(cString: entry.pointee.data))
            unsafe next = entry.pointee.next
        }
        return CookieJar(lines: lines)
    }

    func set(_ option: CURLoption, _ value: Int) throws(CurlError) {
        try check(unsafe ccurl_set_long(raw, option, value))
    }

    func set(_ option: CURLoption, offset: Int64) throws(CurlError) {
        try check(unsafe ccurl_set_offset(raw, option, curl_off_t(offset)))
    }

    /// Sets a text option; libcurl copies the text.
    func set(_ option: CURLoption, _ value: String) throws(CurlError) {
        try check(unsafe ccurl_set_string(raw, option, value))
    }

    /// Clears a text option, even one that has a default.
    func clear(_ option: CURLoption) throws(CurlError) {
        try check(unsafe ccurl_set_string(raw, option, nil))
    }

    /// Sets an option to bytes; libcurl copies them.
    func set(_ option: CURLoption, blob bytes: [UInt8]) throws(CurlError) {
        let code = unsafe bytes.withUnsafeBytes { buffer in
            unsafe ccurl_set_blob(raw, option, buffer.baseAddress, buffer.count)
        }
        try check(code)
    }

    /// Sends `bytes` as the request's body; libcurl copies them.
    func set(body bytes: [UInt8]) throws(CurlError) {
        // The size must come first, or libcurl would copy up to the first NUL.
        try set(CURLOPT_POSTFIELDSIZE_LARGE, offset: Int64(bytes.count))
        let code = unsafe bytes.withUnsafeBytes { buffer in
            unsafe buffer.baseAddress.map { base in
                unsafe ccurl_set_bytes(raw, CURLOPT_COPYPOSTFIELDS, base)
            }
        }
        // An empty array has no address; any other pointer will do for a length of zero.
        try check(unsafe code ?? ccurl_set_string(raw, CURLOPT_COPYPOSTFIELDS, ""))
    }

    /// Sets an option to a list, which stays as long as the option.
    func set(_ option: CURLoption, lines: [String]) throws(CurlError) {
        var list: UnsafeMutablePointer<curl_slist>?
        for line in lines {
            guard let longer = unsafe curl_slist_append(list, line) else {
                unsafe curl_slist_free_all(list)
                throw CurlError(.outOfMemory)
            }
            unsafe list = longer
        }
        unsafe curl_slist_free_all(lists[option.rawValue])
        unsafe lists[option.rawValue] = list
        try check(unsafe ccurl_set_list(raw, option, list))
    }

    /// Throws when an option is refused: a transfer never starts with one of them missing.
    func check(_ code: CURLcode) throws(CurlError) {
        guard code != CURLE_OK else { return }
        throw CurlError(
            code == CURLE_OUT_OF_MEMORY ? .outOfMemory : .other,
            curlCode: Int32(bitPattern: code.rawValue)
        )
    }

    func long(_ info: CURLINFO) -> Int {
        var value = 0
        unsafe ccurl_get_long(raw, info, &value)
        return value
    }

    func offset(_ info: CURLINFO) -> Int64 {
        var value: curl_off_t = 0
        unsafe ccurl_get_offset(raw, info, &value)
        return Int64(value)
    }

    func string(_ info: CURLINFO) -> String? {
        var value: UnsafePointer<CChar>?
        unsafe ccurl_get_string(raw, info, &value)
        return unsafe value.map { unsafe String(cString: $0) }
    }
}
