// What Roslyn, the compiler of C#, says about a directory of sources.
//
//   roslyn places ROOT   path, line, name, rank of every type and method
//   roslyn edges ROOT    file, file that defines a type which it names
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Text;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CSharp;
using Microsoft.CodeAnalysis.CSharp.Syntax;

static class Judge
{
    static int Main(string[] arguments)
    {
        Console.OutputEncoding = new UTF8Encoding(false);
        var root = Path.GetFullPath(arguments[1]);
        var options = CSharpParseOptions.Default.WithLanguageVersion(LanguageVersion.Latest);
        var trees = Directory.EnumerateFiles(root, "*.cs", SearchOption.AllDirectories)
            .OrderBy(path => path, StringComparer.Ordinal)
            .Select(path => CSharpSyntaxTree.ParseText(File.ReadAllText(path), options, path))
            .ToList();
        return arguments[0] == "places" ? Places(root, trees) : Edges(root, trees);
    }

    static string Relative(string root, string path) =>
        Path.GetRelativePath(root, path).Replace('\\', '/');

    static int Places(string root, List<SyntaxTree> trees)
    {
        foreach (var tree in trees)
        {
            foreach (var node in tree.GetRoot().DescendantNodes())
            {
                SyntaxToken name;
                var rank = 0;
                switch (node)
                {
                    case BaseTypeDeclarationSyntax type: name = type.Identifier; break;
                    case DelegateDeclarationSyntax type: name = type.Identifier; break;
                    case MethodDeclarationSyntax method: name = method.Identifier; break;
                    case ConstructorDeclarationSyntax made: name = made.Identifier; rank = 1; break;
                    default: continue;
                }
                var line = name.GetLocation().GetLineSpan().StartLinePosition.Line + 1;
                Console.WriteLine($"{Relative(root, tree.FilePath)}\t{line}\t{name.ValueText}\t{rank}");
            }
        }
        return 0;
    }

    static int Edges(string root, List<SyntaxTree> trees)
    {
        var runtime = Path.GetDirectoryName(typeof(object).Assembly.Location);
        var references = Directory.EnumerateFiles(runtime, "*.dll").Where(IsManaged)
            .Select(path => (MetadataReference)MetadataReference.CreateFromFile(path));
        var compilation = CSharpCompilation.Create("judged", trees, references);
        var edges = new SortedSet<string>(StringComparer.Ordinal);
        foreach (var tree in trees)
        {
            var model = compilation.GetSemanticModel(tree);
            foreach (var node in tree.GetRoot().DescendantNodes().OfType<SimpleNameSyntax>())
            {
                foreach (var type in TypesOf(model.GetSymbolInfo(node)))
                {
                    foreach (var declared in type.OriginalDefinition.DeclaringSyntaxReferences)
                    {
                        if (declared.SyntaxTree != tree)
                        {
                            edges.Add($"{Relative(root, tree.FilePath)}\t{Relative(root, declared.SyntaxTree.FilePath)}");
                        }
                    }
                }
            }
        }
        foreach (var edge in edges)
        {
            Console.WriteLine(edge);
        }
        return 0;
    }

    // The type that a name stands for, by itself, as an attribute, or as a method added to another type.
    static IEnumerable<INamedTypeSymbol> TypesOf(SymbolInfo info)
    {
        var symbols = info.Symbol != null ? new[] { info.Symbol } : info.CandidateSymbols.ToArray();
        foreach (var symbol in symbols)
        {
            if (symbol is INamedTypeSymbol type)
            {
                yield return type;
            }
            else if (symbol is IMethodSymbol method && (method.ReducedFrom != null || method.MethodKind == MethodKind.Constructor))
            {
                yield return method.ContainingType;
            }
        }
    }

    static bool IsManaged(string path)
    {
        try
        {
            System.Reflection.AssemblyName.GetAssemblyName(path);
            return true;
        }
        catch (BadImageFormatException)
        {
            return false;
        }
    }
}
