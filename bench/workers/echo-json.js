// Parses the JSON of the request and answers with the same value.
export default {
  async fetch(request) {
    return Response.json(await request.json());
  },
};
