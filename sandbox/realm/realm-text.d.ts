// The parts of the realm bootstrap are imported as text.
declare module "*.realm.js" {
  const text: string;
  export default text;
}
