// Reads the request's body as it arrives and answers with its length.
export default {
  async fetch(request) {
    let bytes = 0;
    for await (const chunk of request.body) bytes += chunk.byteLength;
    return new Response(String(bytes));
  },
};
