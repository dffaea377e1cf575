package main_test

import (
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/packages"
)

// checkFloats finds results that depend on the processor: Go may fuse a floating-point product
// with the sum that uses it, also across statements and inlined functions, and does so on arm64.
// The conversion float64(x*y) prevents it.
func checkFloats(t *testing.T, own map[string]*packages.Package) {
	t.Helper()
	for _, p := range own {
		if strings.Contains(p.ID, " ") { // with its tests
			continue
		}
		for _, f := range p.Syntax {
			for _, product := range fusible(f, p.TypesInfo) {
				assert.Fail(t, "the result of this product depends on the processor: convert it, as float64(x*y)", "%s", p.Fset.Position(product.Pos()))
			}
		}
	}
}

// fusible returns the floating-point products in a file that may be operands of a sum. A product
// with a constant power of two is exact.
func fusible(f *ast.File, info *types.Info) (found []ast.Node) {
	isFloat := func(e ast.Expr) bool {
		kind, ok := info.TypeOf(e).Underlying().(*types.Basic)
		return ok && kind.Info()&types.IsFloat != 0 && info.Types[e].Value == nil
	}
	exact := func(e ast.Expr) bool {
		value := info.Types[e].Value
		if value == nil {
			return false
		}
		number, _ := constant.Float64Val(constant.ToFloat(value))
		fraction, _ := math.Frexp(number)
		return math.Abs(fraction) == 0.5
	}
	var parents []ast.Node
	ast.Inspect(f, func(n ast.Node) bool {
		if n == nil {
			parents = parents[:len(parents)-1]
			return true
		}
		switch e := n.(type) {
		case *ast.BinaryExpr:
			if e.Op == token.MUL && isFloat(e) && !exact(e.X) && !exact(e.Y) && !rounded(parents, info) {
				found = append(found, n)
			}
		case *ast.AssignStmt:
			if e.Tok == token.MUL_ASSIGN && isFloat(e.Lhs[0]) {
				found = append(found, n)
			}
		}
		parents = append(parents, n)
		return true
	})
	return found
}

// rounded reports whether the use of a product rounds it: a conversion, a function of package
// math, another product, a quotient or a comparison.
func rounded(parents []ast.Node, info *types.Info) bool {
	for i := len(parents) - 1; ; i-- {
		switch e := parents[i].(type) {
		case *ast.ParenExpr:
		case *ast.UnaryExpr:
		case *ast.BinaryExpr:
			return e.Op != token.ADD && e.Op != token.SUB
		case *ast.CallExpr:
			if info.Types[e.Fun].IsType() {
				return true
			}
			function, ok := e.Fun.(*ast.SelectorExpr)
			if !ok {
				return false
			}
			of, ok := function.X.(*ast.Ident)
			return ok && of.Name == "math"
		default:
			return false
		}
	}
}

func TestFusibleProductsAreFound(t *testing.T) {
	t.Parallel()
	const source = `package p
var math struct{ Sqrt func(float64) float64 }
func products(x, y, z float64, n int) {
	_ = x*y + z          // line 4
	_ = z - -(x * y)     // line 5
	z += x * y           // line 6
	p := x * y           // line 7
	z *= y               // line 8
	_ = 2*x + float64(x*y) + x*y/z + float64(n*n) + math.Sqrt(x*y) + p
	_ = x*y < z || int(x*y) < n*n+n
}
func product(x, y float64) float64 { return x * y } // line 12
`
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, "p.go", source, 0)
	require.NoError(t, err)
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}}
	_, err = (&types.Config{}).Check("p", files, []*ast.File{f}, info)
	require.NoError(t, err)
	var lines []int
	for _, product := range fusible(f, info) {
		lines = append(lines, files.Position(product.Pos()).Line)
	}
	assert.Equal(t, []int{4, 5, 6, 7, 8, 12}, lines)
}
